"""Vectors and sets of vectors from npz and svmlight files."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from app.encoders import Kind, Raw
from app.encoders.guess import Guess
from app.services import features
from app.services.item_files import CSR_NAMES, NOT_NPZ, Format, Row, check_unpacked, read_portions
from app.services.problems import Invalid
from app.services.raw_items import MOST_LABELS, PORTION, RawItem, RawPortion, checked_item, split

MOST_COLUMNS = 20_000  # of vectors, which are dense


class Vectors:
    """A file of features that are encoded before they are learnt from."""

    def __init__(self, path: Path, form: Format, index_base: int, kind: Kind | None) -> None:
        self._reading = path, form, index_base
        guess = Guess("vectors", f"the {form} file holds a table of numbers", ways={"vectors": ()})
        self.guess = guess.read_as(kind or "vectors")
        self.total, self._width, labels = 0, 1, set[str]()
        for portion in read_portions(*self._reading):
            self.total += len(portion.rows)
            columns = portion.width or features.n_columns(row.item.features for row in portion.rows)
            self._width = max(self._width, columns)
            labels |= {row.label for row in portion.rows if row.label is not None}
        self.labels = sorted(labels)[:MOST_LABELS]
        if self._width > MOST_COLUMNS:
            raise Invalid(f"vectors may have {MOST_COLUMNS} columns; for sparse histograms set encoder to none")

    def close(self) -> None:
        """Nothing is kept open between two readings."""

    def sample(self, most: int) -> list[Raw]:
        """Rows at equal distances."""
        step = max(1, -(-self.total // most))
        return [self._vector(row) for row in islice(self._rows(), 0, None, step)]

    def portions(self) -> Iterator[RawPortion]:
        """In the order of the file."""
        rows = self._rows()
        while part := list(islice(rows, PORTION)):
            yield RawPortion([self._item(row) for row in part], [])

    def _item(self, row: Row) -> RawItem:
        return RawItem(row.item.key, self._vector(row), row.item.data, row.label, row.item.numbered)

    def _rows(self) -> Iterator[Row]:
        for portion in read_portions(*self._reading):
            yield from portion.rows

    def _vector(self, row: Row) -> Any:
        table = features.table([row.item.features], self._width)
        return (table.toarray() if hasattr(table, "toarray") else table)[0]


class Sets:
    """An npz file with an array of vectors for each item, under its key."""

    def __init__(self, path: Path, kind: Kind | None) -> None:
        guess = Guess("sets", "each array of the npz file is a set of vectors", ways={"sets": ()})
        self.guess = guess.read_as(kind or "sets")
        try:
            check_unpacked(path)
            self._file = np.load(path, allow_pickle=False)
        except NOT_NPZ as error:
            raise Invalid("not an npz file of plain arrays") from error
        self.total, self.labels = len(self._file.files), list[str]()

    def close(self) -> None:
        """Let the file go."""
        self._file.close()

    def sample(self, most: int) -> list[Raw]:
        """Sets at equal distances."""
        step = max(1, -(-self.total // most))
        return [self._set(name) for name in self._file.files[::step]]

    def portions(self) -> Iterator[RawPortion]:
        """In the order of the file."""
        names = iter(self._file.files)
        while part := list(islice(names, PORTION)):
            yield split([checked_item(RawItem(name, self._set(name))) for name in part])

    def _set(self, name: str) -> Any:
        try:
            return np.asarray(self._file[name], dtype=np.float64)
        except NOT_NPZ as error:
            raise Invalid("not an npz file of plain arrays of numbers") from error


def holds_sets(path: Path) -> bool:
    """Whether an npz file has arrays under names of their own, and not the table X or a CSR matrix."""
    try:
        with np.load(path, allow_pickle=False) as file:
            return "X" not in file.files and not set(file.files) >= CSR_NAMES
    except NOT_NPZ as error:
        raise Invalid("not an npz file of plain arrays") from error
