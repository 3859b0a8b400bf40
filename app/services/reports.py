"""What can be read: items with their votes, histories, exports, agreement; from the database, in nobody's way."""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pydantic_core import to_json
from sqlalchemy import Connection

from app.db import events, items, keys, projects
from app.db.database import Database
from app.services.class_book import ClassBook
from app.services.clock import rfc3339
from app.services.features import entries_of
from app.services.ledger import Kind, Ledger, agreement, consensus
from app.services.problems import NotFound
from app.services.project import Project, View, event_of
from app.services.project_settings import ProjectSettings
from app.services.turns import Task
from core import Published

NUMBER = re.compile(r"[+-]?[0-9]+([.][0-9]+)?")
EXPORT_FIELDS = ("key", "label", "votes", "doubt", "unsure")
HISTORY_FIELDS = ("key", "sequence", "kind", "label", "annotator", "predicted", "note", "undoes", "created_at")


@dataclass(frozen=True)
class EventFilter:
    """Which events somebody wants to see; None stands for all."""

    annotator: str | None = None  # by name
    kind: Kind | None = None
    label: str | None = None
    key: str | None = None


class Report:
    """A project as one reading of the database sees it; one that was `begun` is read to its end, deleted or not."""

    def __init__(self, connection: Connection, project_id: str, *, begun: bool = False) -> None:
        row = (projects.get_even_deleted if begun else projects.get)(connection, project_id)
        if row is None:
            raise NotFound("there is no such project")
        self._connection, self._id = connection, project_id
        self._rule = ProjectSettings.model_validate(row.settings).consensus
        self._classes = ClassBook.of(projects.all_classes(connection, project_id))
        self._names = keys.names(connection)

    def ledger(self, numbers: Sequence[int] | None = None) -> Ledger:
        """All answers, or those on some items."""
        ledger = Ledger()
        if numbers is None:
            rows = events.stream(self._connection, self._id)
        else:
            rows = events.of_items(self._connection, self._id, numbers)
        for row in rows:
            ledger.apply(event_of(row))
        return ledger

    def votes(self, ledger: Ledger, item: int) -> dict[str, int]:
        """With merged classes resolved."""
        return {who: self._classes.resolve(number) for who, number in ledger.votes(item).items()}

    def described(self, ledger: Ledger, row: Any) -> dict[str, Any]:
        """An item and what people say of it."""
        votes = self.votes(ledger, row.number)
        agreed = consensus(votes, self._rule)
        return {
            "key": row.key,
            "data": row.data,
            "label": None if agreed is None else self._classes.name(agreed[0]),
            "doubt": None if agreed is None else agreed[1],
            "votes": [
                {"annotator": self._names.get(who, who), "label": self._classes.name(number)}
                for who, number in votes.items()
            ],
            "unsure": ledger.is_unsure(row.number),
        }

    def event(self, row: Any) -> dict[str, Any]:
        """One thing that was said."""
        return {
            "kind": row.kind,
            "annotator": self._names.get(row.key_id, row.key_id),
            "label": self._class_name(row.class_number),
            "predicted": self._class_name(row.predicted),
            "note": row.note,
            "undoes": row.undoes,
            "sequence": row.sequence,
            "created_at": rfc3339(row.created_at),
        }

    def _class_name(self, number: int | None) -> str | None:
        return None if number is None else self._classes.name(number)

    def features(self, key: str) -> tuple[list[int], list[float]]:
        """Columns and values of an item."""
        return entries_of(self._row(key).features)

    def _row(self, key: str) -> Any:
        row = items.with_keys(self._connection, self._id, [key]).get(key)
        if row is None:
            raise NotFound("there is no item with this key")
        return row

    def item(self, key: str, reader: str) -> dict[str, Any]:
        """With its history, and the answer of whoever reads it."""
        row = self._row(key)
        history = events.of_item(self._connection, self._id, row.number)
        ledger = Ledger()
        for event in history:
            ledger.apply(event_of(event))
        own = ledger.standing(row.number, reader)
        return self.described(ledger, row) | {
            "own": None if own is None else {"kind": own.kind, "label": self._class_name(own.class_number)},
            "history": [self.event(event) for event in history],
        }

    def page(self, after: int, limit: int) -> tuple[list[dict[str, Any]], str | None]:
        """Items behind this number, and the cursor of the next page."""
        rows = items.page(self._connection, self._id, after, limit)
        ledger = self.ledger([row.number for row in rows])
        after_these = str(rows[-1].number) if len(rows) == limit else None
        return [self.described(ledger, row) for row in rows], after_these

    def contested(self) -> dict[int, dict[str, int]]:
        """Votes on items that several people label, by item."""
        ledger = self.ledger(events.several_people(self._connection, self._id))
        votes = {item: self.votes(ledger, item) for item in ledger.standings}
        return {item: cast for item, cast in votes.items() if len(cast) > 1}

    def some_items(self, ledger: Ledger, numbers: Sequence[int]) -> list[dict[str, Any]]:
        """Items by their numbers, in this order."""
        rows = items.with_numbers(self._connection, self._id, numbers)
        return [self.described(ledger, rows[number]) for number in numbers]

    def history(self, after: int, limit: int) -> list[dict[str, Any]]:
        """Events behind this sequence number, in their order."""
        rows = events.page(self._connection, self._id, after, limit)
        return self._with_keys(rows)

    def agreement(self) -> dict[str, Any]:
        """On items with several votes."""
        n, share, alpha = agreement(self.contested().values())
        return {"items": n, "agreement": share, "alpha": alpha}

    def annotators(self) -> list[dict[str, Any]]:
        """Who labelled how many items."""
        rows = events.by_person(self._connection, self._id)
        return [
            {"name": self._names.get(row.key_id, row.key_id), "items": row.items, "last_at": row.last_at}
            for row in rows
        ]

    def newest(self, wanted: EventFilter, before: int | None, limit: int) -> tuple[list[dict[str, Any]], str | None]:
        """Events that fit, the newest first, and the cursor of the next page."""
        item = items.with_keys(self._connection, self._id, [wanted.key]) if wanted.key is not None else {}
        if wanted.key is not None and not item:
            return [], None
        by_sql = events.Wanted(
            item[wanted.key].number if wanted.key is not None else None,
            self._ids_of(wanted.annotator) if wanted.annotator is not None else None,
            wanted.kind,
            self._classes.numbers(wanted.label) if wanted.label is not None else None,
        )
        rows = events.newest(self._connection, self._id, by_sql, before, limit)
        return self._with_keys(rows), str(rows[-1].sequence) if len(rows) == limit else None

    def _with_keys(self, rows: Sequence[Any]) -> list[dict[str, Any]]:
        known = items.with_numbers(self._connection, self._id, sorted({row.item for row in rows}))
        return [{"key": known[row.item].key} | self.event(row) for row in rows]

    def _ids_of(self, name: str) -> list[str]:
        return [key_id for key_id, own in self._names.items() if own == name]


def export(database: Database, project_id: str, form: str, *, history: bool, data: bool = False) -> Iterator[bytes]:
    """Lines of jsonl or csv, page by page. Every page is a reading of its own: who stops reading holds nothing up.

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
        yield _as_csv(page, names) if form == "csv" else _as_jsonl(page, names)


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
            page = report.some_items(ledger, numbers[first : first + items.CHUNK])
        yield page


def attach_data(database: Database, project_id: str, answer: dict[str, Any]) -> dict[str, Any]:
    """Add to items what people look at, which the writer has no time for."""
    with database.read() as connection:
        rows = items.with_numbers(connection, project_id, [entry["item"] for entry in answer["items"]])
    return answer | {"items": [entry | {"data": rows[entry["item"]].data} for entry in answer["items"]]}


def _as_jsonl(rows: list[dict[str, Any]], names: Sequence[str]) -> bytes:
    return b"".join(to_json({name: row[name] for name in names}) + b"\n" for row in rows)


def _as_csv(rows: list[dict[str, Any]], names: Sequence[str]) -> bytes:
    lines = io.StringIO()
    csv.writer(lines).writerows([_cell(row[name]) for name in names] for row in rows)
    return lines.getvalue().encode()


def _cell(value: Any) -> Any:
    """Lists and data as JSON; texts that a spreadsheet would run as a formula are quoted, numbers are not."""
    if isinstance(value, list | dict):
        return to_json(value).decode()
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") and not NUMBER.fullmatch(value):
        return "'" + value
    return value


def advice(view: View) -> list[dict[str, Any]]:
    """Whether to go on or stop, by the published state."""
    return [asdict(one) for one in view.model.advice()] if view.model is not None else []


def model_note(settings: ProjectSettings, model: Published) -> str:
    """The model in use, and why or how far."""
    if model.model_choice is not None:
        return str(model.model_choice)
    if settings.model == "auto" and model.model == "gp" and (model.labels >= 0).sum() < 2 * settings.leaf_size:
        return f"gp: a forest is compared with it from {2 * settings.leaf_size} labels on"
    if model.model == "forest" and model.votes is None:
        return f"forest: one leaf until a training on more than {settings.leaf_size} labels"
    return model.model


class DescribeModel(Task):
    """The model, between two turns."""

    def __init__(self, project: Project, training: str | None) -> None:
        self._project, self._training = project, training

    def choose(self) -> None:
        """All from one state."""
        project, model = self._project, self._project.view.model
        labels = project.all_wanted()
        counts = dict.fromkeys(project.classes.active(), 0)
        for name, _ in labels.values():
            counts[name] += 1
        self.answer = {
            "version": project.version,
            "degraded": project.degraded,
            "likelihood": project.settings.likelihood,
            "model": None,
            "solver": None,
            "kernel": None,
            "hyperparameters": {},
            "warnings": [],
            "items": len(project.keys),
            "labelled": len(labels),
            "classes": counts,
            "training": self._training,
            "sequence": project.ledger.sequence,
        }
        if model is not None:
            self.answer |= {
                "model": model_note(project.settings, model),
                "solver": model.solver,
                "kernel": str(model.choice or model.kernel),
                "hyperparameters": dict(model.hyperparameters),
                "warnings": list(model.warnings),
            }
