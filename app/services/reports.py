"""What can be read: items with their votes, histories, exports, agreement; from the database, in nobody's way."""

import csv
import io
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from pydantic_core import to_json
from sqlalchemy import Connection

from app.db import events, items, keys, projects
from app.db.database import Database
from app.services.class_book import ClassBook
from app.services.features import entries_of
from app.services.ledger import Ledger, agreement, consensus
from app.services.problems import NotFound
from app.services.project import Project, event_of
from app.services.project_settings import ProjectSettings
from app.services.turns import Task
from core import OnlineLearner

EXPORT_FIELDS = ("key", "label", "votes", "doubt", "unsure")
PROMPT_ADVICE = 1000  # labels up to which advice takes no time
HISTORY_FIELDS = ("key", "sequence", "kind", "label", "annotator", "predicted", "note", "undoes", "created_at")


class Report:
    """A project as one reading of the database sees it."""

    def __init__(self, connection: Connection, project_id: str) -> None:
        row = projects.get(connection, project_id)
        if row is None:
            raise NotFound("there is no such project")
        self._connection, self._id = connection, project_id
        self._rule = ProjectSettings.model_validate(row.settings).consensus
        self._classes = ClassBook.of(projects.all_classes(connection, project_id))
        self._names = keys.names(connection)

    def ledger(self) -> Ledger:
        """All answers."""
        ledger = Ledger()
        for row in events.stream(self._connection, self._id):
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
            "label": None if row.class_number is None else self._classes.name(row.class_number),
            "predicted": None if row.predicted is None else self._classes.name(row.predicted),
            "note": row.note,
            "undoes": row.undoes,
            "sequence": row.sequence,
            "created_at": row.created_at,
        }

    def features(self, key: str) -> tuple[list[int], list[float]]:
        """Columns and values of an item."""
        return entries_of(self._row(key).features)

    def _row(self, key: str) -> Any:
        row = items.with_keys(self._connection, self._id, [key]).get(key)
        if row is None:
            raise NotFound("there is no item with this key")
        return row

    def item(self, key: str) -> dict[str, Any]:
        """With its history."""
        row = self._row(key)
        history = events.of_item(self._connection, self._id, row.number)
        ledger = Ledger()
        for event in history:
            ledger.apply(event_of(event))
        return self.described(ledger, row) | {"history": [self.event(event) for event in history]}

    def page(self, after: int, limit: int) -> tuple[list[dict[str, Any]], str | None]:
        """Items behind this number, and the cursor of the next page."""
        rows = items.page(self._connection, self._id, after, limit)
        ledger = Ledger()
        for row in rows:
            for event in events.of_item(self._connection, self._id, row.number):
                ledger.apply(event_of(event))
        after_these = str(rows[-1].number) if len(rows) == limit else None
        return [self.described(ledger, row) for row in rows], after_these

    def labels(self) -> Iterator[dict[str, Any]]:
        """Every item that somebody answered on."""
        ledger = self.ledger()
        numbers = sorted(item for item, answers in ledger.standings.items() if answers)
        for first in range(0, len(numbers), items.CHUNK):
            part = numbers[first : first + items.CHUNK]
            rows = items.with_numbers(self._connection, self._id, part)
            for number in part:
                entry = self.described(ledger, rows[number])
                yield {name: entry[name] for name in EXPORT_FIELDS}

    def history(self) -> Iterator[dict[str, Any]]:
        """Every event."""
        key_of = {row.number: row.key for row in items.stream_keys(self._connection, self._id)}
        for row in events.stream(self._connection, self._id):
            yield {"key": key_of[row.item]} | self.event(row)

    def agreement(self) -> dict[str, Any]:
        """On items with several votes."""
        ledger = self.ledger()
        n, share, alpha = agreement(self.votes(ledger, item) for item in ledger.standings)
        return {"items": n, "agreement": share, "alpha": alpha}


def export(database: Database, project_id: str, form: str, *, history: bool) -> Iterator[bytes]:
    """Lines of jsonl or csv; the reading lasts as long as the export."""
    with database.read() as connection:
        report = Report(connection, project_id)
        rows = report.history() if history else report.labels()
        if form == "jsonl":
            for row in rows:
                yield to_json(row) + b"\n"
        else:
            yield from _as_csv(rows, HISTORY_FIELDS if history else EXPORT_FIELDS)


def attach_data(database: Database, project_id: str, answer: dict[str, Any]) -> dict[str, Any]:
    """Add to items what people look at, which the writer has no time for."""
    with database.read() as connection:
        rows = items.with_numbers(connection, project_id, [entry["item"] for entry in answer["items"]])
    return answer | {"items": [entry | {"data": rows[entry["item"]].data} for entry in answer["items"]]}


def _as_csv(rows: Iterator[dict[str, Any]], names: tuple[str, ...]) -> Iterator[bytes]:
    line = io.StringIO()
    table = csv.writer(line)
    table.writerow(names)
    for row in rows:
        table.writerow(_cell(row[name]) for name in names)
        yield line.getvalue().encode()
        line.seek(0)
        line.truncate()
    yield line.getvalue().encode()


def _cell(value: Any) -> Any:
    """Lists as JSON; texts that a spreadsheet would run as a formula are quoted."""
    if isinstance(value, list):
        return to_json(value).decode()
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return "'" + value
    return value


def _advice(project: Project, learner: OnlineLearner) -> list[dict[str, Any]]:
    """Of today, or of the last training where that would keep people waiting."""
    if project.view.n_labels > PROMPT_ADVICE and project.advice:
        return project.advice
    return [asdict(advice) for advice in learner.advice()]


class DescribeModel(Task):
    """The model and its advice, between two turns."""

    def __init__(self, project: Project, training: str | None) -> None:
        self._project, self._training = project, training

    def choose(self) -> None:
        """All from one state."""
        project, learner = self._project, self._project.learner
        labels = project.all_wanted()
        counts = dict.fromkeys(project.classes.active(), 0)
        for name, _ in labels.values():
            counts[name] += 1
        self.answer = {
            "version": project.version,
            "degraded": project.degraded,
            "solver": None,
            "kernel": None,
            "hyperparameters": {},
            "items": len(project.keys),
            "labelled": len(labels),
            "classes": counts,
            "training": self._training,
            "sequence": project.ledger.sequence,
            "advice": [],
        }
        if learner is not None and len(learner):
            model = learner.publish()
            self.answer |= {
                "solver": model.solver,
                "kernel": str(model.choice) if model.choice else learner.labelling().parameters.kernel,
                "hyperparameters": dict(model.hyperparameters),
                "advice": _advice(project, learner),
            }
