"""Vectors and sets of vectors from npz and svmlight files."""

import math
import zipfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from app.encoders import Kind, Raw
from app.encoders.guess import Guess
from app.services.budgets import Budgets
from app.services.imports.feature_files import Format, Row, read_portions
from app.services.imports.npz import CSR_NAMES, array_names
from app.services.imports.portions import SAMPLE_BYTES, in_portions, within
from app.services.imports.raw_items import (
    MAX_LABELS,
    MAX_NUMBERS,
    PORTION,
    RawItem,
    RawPortion,
    checked_item,
    size_of,
    split,
)
from app.services.imports.zips import NOT_NPZ, NPZ, StoredArray, open_zip
from app.services.items import features
from app.services.problems import Invalid
from app.services.runtime.checks import Check, go_on

MAX_BYTES = 50 * 2**20  # of a set, as it is read: 8 for a number, however small it was stored


class Vectors:
    """A file of features that are encoded before they are learnt from."""

    def __init__(
        self,
        path: Path,
        form: Format,
        index_base: int,
        kind: Kind | None,
        budgets: Budgets | None = None,
        check: Check = go_on,
    ) -> None:
        budgets = budgets or Budgets()
        self._reading = path, form, index_base, replace(budgets, columns=min(budgets.columns, MAX_NUMBERS)), check
        guess = Guess("vectors", f"the {form} file holds a table of numbers", ways={"vectors": ()})
        self.guess = guess.read_as(kind or "vectors")
        self.total, self._width, labels = 0, 1, set[str]()
        for portion in read_portions(*self._reading):
            self.total += len(portion.rows)
            columns = portion.width or features.n_columns(row.item.features for row in portion.rows)
            self._width = max(self._width, columns)
            if self._width > MAX_NUMBERS:
                raise Invalid(f"vectors may have {MAX_NUMBERS} columns; for sparse histograms set encoder to none")
            if len(labels) < MAX_LABELS:
                labels |= {row.label for row in portion.rows if row.label is not None}
        budgets.check_items(self.total)
        self.labels = sorted(labels)[:MAX_LABELS]

    def close(self) -> None:
        """Nothing is kept open between two readings."""

    def sample(self, most: int) -> list[Raw]:
        """Rows at equal distances; fewer where they are long."""
        step = max(1, -(-self.total // most), -(-self.total * self._width * 8 // SAMPLE_BYTES))
        return [self._vector(row) for row in islice(self._rows(), 0, None, step)]

    def portions(self) -> Iterator[RawPortion]:
        """Items in the order of the file."""
        for part in in_portions(((row, self._width) for row in self._rows()), PORTION):
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

    def __init__(self, path: Path, kind: Kind | None, budgets: Budgets | None = None, check: Check = go_on) -> None:
        guess = Guess("sets", "each array of the npz file is a set of vectors", ways={"sets": ()})
        self.guess = guess.read_as(kind or "sets")
        self._check = check
        self._archive = open_zip(path, budgets or Budgets(), check, NPZ)
        self._entries = [entry for entry in self._archive.infolist() if entry.filename.endswith(".npy")]
        self.total, self.labels = len(self._entries), list[str]()

    def close(self) -> None:
        """Let the file go."""
        self._archive.close()

    def sample(self, most: int) -> list[Raw]:
        """Sets at equal distances; fewer where they are large."""
        size = sum(entry.file_size for entry in self._entries)
        step = max(1, -(-self.total // most), -(-size // SAMPLE_BYTES))
        sets = (self._set(_name(entry)) for entry in self._entries[::step])
        return within((found, size_of(found)) for found in sets)

    def portions(self) -> Iterator[RawPortion]:
        """Items in the order of the file."""
        for part in in_portions(((_name(entry), entry.file_size) for entry in self._entries), PORTION):
            yield split([checked_item(RawItem(name, self._set(name))) for name in part])

    def _set(self, name: str) -> Any:
        self._check()
        try:
            with closing(StoredArray(self._archive, name)) as array:
                if math.prod(array.shape) * max(8, array.dtype.itemsize) > MAX_BYTES:
                    raise Invalid(f"a set may have {MAX_BYTES // 8} numbers")
                return array.whole().astype(np.float64)
        except NOT_NPZ as error:
            raise Invalid(f"not {NPZ} of numbers") from error


def _name(entry: zipfile.ZipInfo) -> str:
    return entry.filename.removesuffix(".npy")


def holds_sets(path: Path, budgets: Budgets | None = None, check: Check = go_on) -> bool:
    """Whether an npz file has arrays under names of their own, and not the table X or a CSR matrix."""
    with open_zip(path, budgets or Budgets(), check, NPZ) as archive:
        names = array_names(archive)
    return "X" not in names and not names >= CSR_NAMES
