"""Rows as lines of a file: jsonl, csv or RIS, page by page."""

import csv
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic_core import to_json

from app.services.items import ris

ExportFormat = Literal["jsonl", "csv", "ris"]
Page = list[dict[str, Any]]

NUMBER = re.compile(r"[+-]?[0-9]+([.][0-9]+)?")
BYTE_ORDER_MARK = "\ufeff"  # by which Excel knows that a file is UTF-8


@dataclass(frozen=True)
class Sheet:
    """What the rows of an export have: fields in their order; in a table some of them become several columns."""

    fields: tuple[str, ...]
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # of fields that map names to values

    def header(self) -> list[str]:
        """Names of the columns of a table, each once.

        >>> Sheet(("key", "data", "label"), {"data": ("text", "label")}).header()
        ['key', 'text', 'data: label', 'label']
        """
        taken = {name for name in self.fields if name not in self.columns}
        header: list[str] = []
        for name in self.fields:
            for column in self.columns.get(name, ()):
                header.append(f"{name}: {column}" if column in taken else column)
                taken.add(header[-1])
            if name not in self.columns:
                header.append(name)
        return header

    def cells(self, row: Mapping[str, Any]) -> list[Any]:
        """The values of a row, column by column."""
        cells: list[Any] = []
        for name in self.fields:
            if name in self.columns:
                values = row[name] or {}
                cells += [values.get(column) for column in self.columns[name]]
            else:
                cells.append(row[name])
        return cells


def lines(pages: Iterator[Page], sheet: Sheet, form: ExportFormat, *, excel: bool = False) -> Iterator[bytes]:
    """The pages of a file; a table for Excel begins with a byte-order mark."""
    if form == "csv":
        yield (BYTE_ORDER_MARK if excel else "").encode() + _as_csv([sheet.header()])
    for page in pages:
        if form == "csv":
            yield _as_csv([sheet.cells(row) for row in page])
        elif form == "ris":
            yield "".join(ris.written(row["key"], row["data"], row["label"]) + "\n\n" for row in page).encode()
        else:
            yield b"".join(to_json({name: row[name] for name in sheet.fields}) + b"\n" for row in page)


def _as_csv(rows: list[list[Any]]) -> bytes:
    written = io.StringIO()
    csv.writer(written).writerows([_cell(value) for value in row] for row in rows)
    return written.getvalue().encode()


def _cell(value: Any) -> Any:
    """Lists and objects as JSON; texts that a spreadsheet would run as a formula are quoted, numbers are not."""
    if isinstance(value, list | dict):
        return to_json(value).decode()
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") and not NUMBER.fullmatch(value):
        return "'" + value
    return value
