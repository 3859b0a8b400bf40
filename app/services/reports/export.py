"""Exports, page by page: all labels, all events, or what is predicted for every item."""

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection

from app.db import events, items
from app.db.database import Database
from app.services.model.predictions import known_model, predict_items
from app.services.project.ledger import Ledger
from app.services.project.view import View
from app.services.reports.report import Report
from app.services.reports.sheet import ExportFormat, Page, Sheet, lines
from app.services.runtime.clock import rfc3339

LABELS = ("key", "label", "votes", "doubt", "unsure", "answered_at")
HISTORY = ("key", "sequence", "kind", "label", "annotator", "predicted", "note", "undoes", "created_at")
PREDICTIONS = ("key", "data", "label", "by", "predicted", "probability", "sureness", "probabilities")
SURENESS = ((0.95, "sure"), (0.75, "fairly sure"), (0.0, "unsure"))  # from which probability on
MAX_COLUMNS = 500  # of the items' data in a table; where they have more names, they are one column of JSON


def export_labels(
    database: Database, project_id: str, form: ExportFormat, *, data: bool = False, excel: bool = False
) -> Iterator[bytes]:
    """Every item that somebody answered on, as all answers stood at the beginning, with the items' data if wanted.

    Every page is a reading of its own: who stops reading holds nothing up. A project that is gone is known at once,
    before anything was sent; one that goes later is sent whole.
    """
    with database.read() as connection:
        report = Report(connection, project_id)
        ledger = report.ledger()
        columns = {"votes": tuple(report.people(ledger))}
        if data and form == "csv":
            columns |= _data_columns(connection, project_id)
    fields = (LABELS[0], "data", *LABELS[1:]) if data else LABELS
    pages = _labels(database, project_id, ledger, by_person=form == "csv")
    return lines(pages, Sheet(fields, columns), form, excel=excel)


def export_history(database: Database, project_id: str, form: ExportFormat, *, excel: bool = False) -> Iterator[bytes]:
    """Every event, in its order."""
    with database.read() as connection:
        Report(connection, project_id)
    return lines(_history(database, project_id), Sheet(HISTORY), form, excel=excel)


def export_predictions(
    database: Database, project_id: str, view: View, form: ExportFormat, *, excel: bool = False
) -> Iterator[bytes]:
    """Every item with its class: what people said, else what the model takes for the most probable."""
    model = known_model(view)
    with database.read() as connection:
        ledger = Report(connection, project_id).ledger()
        columns = _data_columns(connection, project_id) if form == "csv" else {}
    columns["probabilities"] = tuple(map(_likely, model.classes))
    pages = _predictions(database, project_id, ledger, view, by_column=form == "csv")
    return lines(pages, Sheet(PREDICTIONS, columns), form, excel=excel)


def _data_columns(connection: Connection, project_id: str) -> dict[str, tuple[str, ...]]:
    names = items.data_names(connection, project_id, MAX_COLUMNS + 1)
    return {"data": tuple(names)} if len(names) <= MAX_COLUMNS else {}


def _labels(database: Database, project_id: str, ledger: Ledger, *, by_person: bool) -> Iterator[Page]:
    numbers = sorted(item for item, answers in ledger.standings.items() if answers)
    for first in range(0, len(numbers), items.CHUNK):
        some = numbers[first : first + items.CHUNK]
        with database.read() as connection:
            page = Report(connection, project_id, begun=True).items_with_numbers(ledger, some)
            answered = events.last_answered(connection, project_id, some)
        for number, row in zip(some, page, strict=True):
            row["answered_at"] = rfc3339(answered[number])
            if by_person:
                row["votes"] = _by_person(row["votes"])
        yield page


def _by_person(votes: list[dict[str, str]]) -> dict[str, str]:
    """The class that each person chose; people of one name share a column."""
    chosen: dict[str, str] = {}
    for vote in votes:
        who, label = vote["annotator"], vote["label"]
        chosen[who] = f"{chosen[who]}; {label}" if who in chosen else label
    return chosen


def _history(database: Database, project_id: str) -> Iterator[Page]:
    page: Page = [{"sequence": 0}]
    while page:
        with database.read() as connection:
            page = Report(connection, project_id, begun=True).history(page[-1]["sequence"], items.CHUNK)
        yield page


def _predictions(database: Database, project_id: str, ledger: Ledger, view: View, *, by_column: bool) -> Iterator[Page]:
    """All items of the model, in the order they came."""
    model = known_model(view)
    for first in range(0, len(model), items.CHUNK):
        numbers = range(first, min(first + items.CHUNK, len(model)))
        with database.read() as connection:
            page = Report(connection, project_id, begun=True).items_with_numbers(ledger, numbers)
        guesses = predict_items(view, numbers)["predictions"] if model.tells_classes_apart else [None] * len(page)
        for row, guess in zip(page, guesses, strict=True):
            row.update(_predicted(guess))
            row["by"] = "person" if row["label"] is not None else None if guess is None else "model"
            row["label"] = row["label"] or row["predicted"]
            if by_column:
                row["probabilities"] = {_likely(name): p for name, p in row["probabilities"].items()}
        yield page


def _predicted(guess: dict[str, Any] | None) -> dict[str, Any]:
    if guess is None:
        return {"predicted": None, "probability": None, "sureness": None, "probabilities": {}}
    name, probabilities = guess["label"], guess["probabilities"]
    probability = probabilities[name]
    sureness = next(word for least, word in SURENESS if probability >= least)
    return {"predicted": name, "probability": probability, "sureness": sureness, "probabilities": probabilities}


def _likely(name: str) -> str:
    """The column of a class's probability."""
    return f"P({name})"
