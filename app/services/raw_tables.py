"""Raw items from csv and JSON lines: texts, rows of a table, vectors or sets, one to a line."""

import codecs
import csv
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from pydantic_core import from_json

from app.encoders import Kind, Raw
from app.encoders.guess import cell_of, guess_entries
from app.services.problems import Invalid
from app.services.raw_items import (
    GUESSED_FROM,
    MOST_LABELS,
    PORTION,
    Broken,
    Form,
    RawItem,
    RawPortion,
    checked_item,
    split,
)

Entry = Mapping[str, Any] | Broken
MOST_TEXT = 2**20  # characters


class Lines:
    """A csv or jsonl file. `column` is the one that texts came in so far."""

    def __init__(self, path: Path, form: Form, kind: Kind | None, column: str | None) -> None:
        self._path, self._form = path, form
        first = [entry for entry in islice(self._entries(), GUESSED_FROM) if not isinstance(entry, Broken)]
        try:
            guess = guess_entries([{n: v for n, v in entry.items() if not isinstance(v, dict)} for entry in first])
            self.guess = guess.read_as(kind or guess.kind, column)
        except ValueError as error:
            raise Invalid(str(error)) from error
        self._survey()

    def close(self) -> None:
        """Nothing is kept open between two readings."""

    def sample(self, most: int) -> list[Raw]:
        """Lines drawn by lot, the same ones each time."""
        chosen = set(np.random.default_rng(0).permutation(self.total)[:most].tolist())
        found = (self._item(entry, place) for place, entry in enumerate(self._entries()) if place in chosen)
        return [item.raw for item in found if isinstance(item, RawItem)]

    def portions(self) -> Iterator[RawPortion]:
        """Line by line."""
        numbered = enumerate(self._entries())
        while part := [self._item(entry, place) for place, entry in islice(numbered, PORTION)]:
            yield split(part)

    def _survey(self) -> None:
        """Count items and the labels that they have."""
        self.total, labels = 0, dict[str, None]()
        for entry in self._entries():
            self.total += 1
            label = self._label(entry) if not isinstance(entry, Broken) else None
            if label is not None and len(labels) < MOST_LABELS:
                labels[label] = None
        self.labels = sorted(labels)

    def _entries(self) -> Iterator[Entry]:
        return _csv_entries(self._path) if self._form == "csv" else _json_entries(self._path)

    def _label(self, entry: Mapping[str, Any]) -> str | None:
        return cell_of(entry.get(self.guess.label)) or None if self.guess.label else None

    def _item(self, entry: Entry, place: int) -> RawItem | Broken:
        if isinstance(entry, Broken):
            return entry
        guess = self.guess
        key = cell_of(entry.get(guess.key)) if guess.key else ""
        name = key or f"row-{place + 1}"
        own = {guess.key, guess.label, "data"}
        others = {n: v for n, v in entry.items() if n not in own and n not in guess.columns and v not in ("", None)}
        data = (entry["data"] if isinstance(entry.get("data"), dict) else {}) | others
        try:
            raw = self._raw(entry)
        except (ValueError, TypeError, KeyError) as error:
            return Broken(name[:200], str(error) if type(error) is ValueError else "a cell is not what it should be")
        if guess.kind == "text":
            data["text"] = raw
        elif isinstance(raw, dict):
            data |= {column: cell for column, cell in raw.items() if cell}
        return checked_item(RawItem(name, raw, data or None, self._label(entry), numbered=not key))

    def _raw(self, entry: Mapping[str, Any]) -> Raw:
        columns = self.guess.columns
        if self.guess.kind == "text":
            text = cell_of(entry.get(columns[0]))
            if len(text) > MOST_TEXT:
                raise ValueError(f"longer than {MOST_TEXT} characters")
            return text
        if self.guess.kind == "table":
            return {column: cell_of(entry.get(column)) for column in columns}
        values = entry[columns[0]] if isinstance(entry[columns[0]], list) else [entry[column] for column in columns]
        return np.array(values, dtype=np.float64)


def _csv_entries(path: Path) -> Iterator[Entry]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        header = file.readline()
        file.seek(0)
        table = csv.reader(file, delimiter=max(",;\t", key=header.count))
        try:
            names = next(table, [])
            if len(set(names)) < len(names):
                raise Invalid("two columns of the csv file have the same name")
            for line in table:
                if len(line) == len(names):
                    yield dict(zip(names, line, strict=True))
                elif line:
                    yield Broken(f"line {table.line_num}", f"{len(line)} cells under {len(names)} names")
        except UnicodeDecodeError as error:
            raise Invalid("the csv file is not UTF-8 text") from error
        except csv.Error as error:
            raise Invalid("not a csv file, or a cell is longer than 131072 characters") from error


def _json_entries(path: Path) -> Iterator[Entry]:
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                entry = from_json(line.removeprefix(codecs.BOM_UTF8), allow_inf_nan=False)
            except ValueError:
                entry = None
            yield entry if isinstance(entry, dict) else Broken(f"line {number}", "not a JSON object")
