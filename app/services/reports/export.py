"""Exports: all labels or all events as lines, page by page."""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic_core import to_json

from app.db import items
from app.db.database import Database
from app.services.items import ris
from app.services.project.ledger import Ledger
from app.services.reports.report import Report

NUMBER = re.compile(r"[+-]?[0-9]+([.][0-9]+)?")
EXPORT_FIELDS = ("key", "label", "votes", "doubt", "unsure")
HISTORY_FIELDS = ("key", "sequence", "kind", "label", "annotator", "predicted", "note", "undoes", "created_at")


def export(database: Database, project_id: str, form: str, *, history: bool, data: bool = False) -> Iterator[bytes]:
    """Lines of jsonl, csv or RIS, page by page. Every page is a reading of its own: who stops reading holds nothing up.

    A project that is gone is known at once, before anything was sent; one that goes later is sent whole.
    """
    names = HISTORY_FIELDS if history else (*EXPORT_FIELDS, "data") if data else EXPORT_FIELDS
    with database.read() as connection:
        report = Report(connection, project_id)
        ledger = None if history else report.ledger()
    pages = _history(database, project_id) if ledger is None else _labels(database, project_id, ledger)
    return _lines(pages, form, names)


def _lines(pages: Iterator[list[dict[str, Any]]], form: str, names: Sequence[str]) -> Iterator[bytes]:
    if form == "csv":
        yield _as_csv([dict(zip(names, names, strict=True))], names)
    for page in pages:
        yield _as_ris(page) if form == "ris" else _as_csv(page, names) if form == "csv" else _as_jsonl(page, names)


def _history(database: Database, project_id: str) -> Iterator[list[dict[str, Any]]]:
    """Every event."""
    page: list[dict[str, Any]] = [{"sequence": 0}]
    while page:
        with database.read() as connection:
            page = Report(connection, project_id, begun=True).history(page[-1]["sequence"], items.CHUNK)
        yield page


def _labels(database: Database, project_id: str, ledger: Ledger) -> Iterator[list[dict[str, Any]]]:
    """Every item that somebody answered on, as all answers stood at the beginning."""
    numbers = sorted(item for item, answers in ledger.standings.items() if answers)
    for first in range(0, len(numbers), items.CHUNK):
        with database.read() as connection:
            report = Report(connection, project_id, begun=True)
            page = report.items_with_numbers(ledger, numbers[first : first + items.CHUNK])
        yield page


def _as_jsonl(rows: list[dict[str, Any]], names: Sequence[str]) -> bytes:
    return b"".join(to_json({name: row[name] for name in names}) + b"\n" for row in rows)


def _as_csv(rows: list[dict[str, Any]], names: Sequence[str]) -> bytes:
    lines = io.StringIO()
    csv.writer(lines).writerows([_cell(row[name]) for name in names] for row in rows)
    return lines.getvalue().encode()


def _as_ris(rows: list[dict[str, Any]]) -> bytes:
    return "".join(ris.written(row["key"], row["data"], row["label"]) + "\n\n" for row in rows).encode()


def _cell(value: Any) -> Any:
    """Lists and data as JSON; texts that a spreadsheet would run as a formula are quoted, numbers are not."""
    if isinstance(value, list | dict):
        return to_json(value).decode()
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") and not NUMBER.fullmatch(value):
        return "'" + value
    return value
