"""Raw items from csv and JSON lines: texts, rows of a table, vectors or sets, one to a line."""

import codecs
import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pydantic_core import from_json

from app.encoders import Kind, Raw
from app.encoders.guess import cell_of, guess_entries
from app.encoders.text import joined
from app.services.budgets import Budgets
from app.services.imports.portions import SAMPLE_BYTES, BoundedLines, in_portions, within
from app.services.imports.raw_items import (
    GUESSED_BYTES,
    GUESSED_FROM,
    MAX_LABELS,
    MAX_NUMBERS,
    PORTION,
    Broken,
    ImportFormat,
    RawItem,
    RawPortion,
    checked_item,
    size_of,
    split,
)
from app.services.items import ris
from app.services.problems import Invalid
from app.services.runtime.checks import Check, go_on

Entry = Mapping[str, Any] | Broken
MAX_TEXT_CHARACTERS = 2**20  # characters
MAX_LABEL_CHARACTERS = 1000  # characters that are kept, which are more than a class may have


class Lines:
    """A csv, jsonl or RIS file. `texts` are the columns that texts came in so far, or should come in.

    An encoder that is there reads these columns by their names, and texts of others as one.
    """

    def __init__(
        self,
        path: Path,
        form: ImportFormat,
        kind: Kind | None,
        texts: Sequence[str],
        budgets: Budgets | None = None,
        check: Check = go_on,
        *,
        has_encoder: bool = False,
    ) -> None:
        self._path, self._form, self._budgets, self._check = path, form, budgets or Budgets(), check
        first = next(in_portions(self._sized_entries(), GUESSED_FROM, GUESSED_BYTES), [])
        rows = [entry for entry in first if not isinstance(entry, Broken)]
        try:
            guess = guess_entries([{n: v for n, v in entry.items() if not isinstance(v, dict)} for entry in rows])
            self.guess = guess.read_as(kind or guess.kind, texts)
        except ValueError as error:
            raise Invalid(str(error)) from error
        self._columns = set(self.guess.columns)
        by_name = set(texts) if has_encoder else self._columns
        self._by_column = len(by_name) > 1 and self._columns <= by_name
        if self.guess.kind == "vectors" and len(self._columns) > MAX_NUMBERS:
            raise Invalid(f"vectors may have {MAX_NUMBERS} columns, not {len(self._columns)}")
        self._survey()

    def close(self) -> None:
        """Nothing is kept open between two readings."""

    def sample(self, most: int) -> list[Raw]:
        """Lines drawn by lot, the same ones each time; fewer where they are long."""
        most = min(most, 1 + SAMPLE_BYTES * self.total // max(self._path.stat().st_size, 1))
        chosen = set(np.random.default_rng(0).permutation(self.total)[:most].tolist())
        found = (self._item(entry, place) for place, (entry, _) in enumerate(self._sized_entries()) if place in chosen)
        return within((item.raw, size_of(item.raw)) for item in found if isinstance(item, RawItem))

    def portions(self) -> Iterator[RawPortion]:
        """Line by line."""
        entries = enumerate(self._sized_entries())
        for part in in_portions(((self._item(entry, place), size) for place, (entry, size) in entries), PORTION):
            yield split(part)

    def _survey(self) -> None:
        """Count items and the labels that they have."""
        self.total, labels = 0, dict[str, None]()
        for entry, _ in self._sized_entries():
            self.total += 1
            label = self._label(entry) if not isinstance(entry, Broken) else None
            if label is not None and len(labels) < MAX_LABELS:
                labels[label[:MAX_LABEL_CHARACTERS]] = None
        self._budgets.check_items(self.total)
        self.labels = sorted(labels)

    def _sized_entries(self) -> Iterator[tuple[Entry, int]]:
        """Each line, and how long it is."""
        return READERS[self._form](self._path, self._budgets, self._check)

    def _label(self, entry: Mapping[str, Any]) -> str | None:
        return cell_of(entry.get(self.guess.label)) or None if self.guess.label else None

    def _item(self, entry: Entry, place: int) -> RawItem | Broken:
        if isinstance(entry, Broken):
            return entry
        guess = self.guess
        key = cell_of(entry.get(guess.key)) if guess.key else ""
        name = key or f"row-{place + 1}"
        own = {guess.key, guess.label, "data"}
        used = own | self._columns
        others = {n: v for n, v in entry.items() if n not in used and v not in ("", None)}
        data = (entry["data"] if isinstance(entry.get("data"), dict) else {}) | others
        try:
            raw = self._raw(entry)
        except (ValueError, TypeError, KeyError) as error:
            return Broken(name[:200], str(error) if type(error) is ValueError else "a cell is not what it should be")
        if guess.kind == "text":  # people see the first column as the text, and the others beside it
            first, *beside = guess.columns
            data["text"] = cell_of(entry.get(first))
            data |= {column: cell for column in beside if (cell := cell_of(entry.get(column)))}
        elif isinstance(raw, dict):
            data |= {column: cell for column, cell in raw.items() if cell}
        return checked_item(RawItem(name, raw, data or None, self._label(entry), numbered=not key))

    def _raw(self, entry: Mapping[str, Any]) -> Raw:
        columns = self.guess.columns
        if self.guess.kind == "text":
            texts = {column: cell_of(entry.get(column)) for column in columns}
            if max(map(len, texts.values())) > MAX_TEXT_CHARACTERS:
                raise ValueError(f"longer than {MAX_TEXT_CHARACTERS} characters")
            return texts if self._by_column else joined(texts)
        if self.guess.kind == "table":
            return {column: cell_of(entry.get(column)) for column in columns}
        values = entry[columns[0]] if isinstance(entry[columns[0]], list) else [entry[column] for column in columns]
        numbers = np.array(values, dtype=np.float64)
        if numbers.shape[-1] > MAX_NUMBERS:
            raise ValueError(f"vectors may have {MAX_NUMBERS} numbers")
        return numbers


def _csv_entries(path: Path, budgets: Budgets, check: Check) -> Iterator[tuple[Entry, int]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        try:
            header = next(BoundedLines(file, budgets.line, check), "")
            file.seek(0)
            lines = BoundedLines(file, budgets.line, check)
            table = csv.reader(lines, delimiter=max(",;\t", key=header.count))
            names = next(table, [])
            budgets.check_columns(len(names))
            if len(set(names)) < len(names):
                raise Invalid("two columns of the csv file have the same name")
            lines.end_row()
            before = lines.size
            for line in table:
                lines.end_row()
                size, before = lines.size - before, lines.size
                if len(line) == len(names):
                    yield dict(zip(names, line, strict=True)), size
                elif line:
                    reason = f"{len(line)} cells, but the header has {len(names)} columns"
                    yield Broken(f"line {table.line_num}", reason), size
        except UnicodeDecodeError as error:
            raise Invalid("the csv file is not UTF-8 text: save it again as UTF-8") from error
        except csv.Error as error:
            raise Invalid("not a csv file, or a cell is longer than 131072 characters") from error


def _json_entries(path: Path, budgets: Budgets, check: Check) -> Iterator[tuple[Entry, int]]:
    with path.open("rb") as file:
        lines = BoundedLines(file, budgets.line, check)
        for line in lines:
            lines.end_row()
            if not line.strip():
                continue
            try:
                entry = from_json(line.removeprefix(codecs.BOM_UTF8), allow_inf_nan=False)
            except ValueError:
                entry = None
            if isinstance(entry, dict):
                budgets.check_columns(len(entry))
                yield entry, len(line)
            else:
                yield Broken(f"line {lines.number}", "not a JSON object"), len(line)


def _ris_entries(path: Path, budgets: Budgets, check: Check) -> Iterator[tuple[Entry, int]]:
    with path.open(encoding="utf-8-sig") as file:
        lines, before, record = BoundedLines(file, budgets.line, check), 0, list[str]()
        try:
            for line in lines:
                if line.strip():
                    record.append(line.rstrip("\r\n"))
                if ris.ends(line):
                    size, before = lines.size - before, lines.size
                    lines.end_row()
                    yield _reference(record, lines.number), size
                    record = []
        except UnicodeDecodeError as error:
            raise Invalid("the RIS file is not UTF-8 text: save it again as UTF-8") from error
        if record:
            yield Broken(f"line {lines.number}", "the last reference has no end (ER)"), lines.size - before


def _reference(record: list[str], number: int) -> Entry:
    try:
        return ris.entry_of(record)
    except ValueError as error:
        return Broken(f"line {number}", str(error))


READERS = {"csv": _csv_entries, "jsonl": _json_entries, "ris": _ris_entries}
