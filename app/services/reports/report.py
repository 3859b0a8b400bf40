"""Reports: items with their votes, histories, agreement; from the database, in nobody's way."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from app.db import events, items, keys, projects
from app.db.database import Database
from app.services.items.features import entries_of
from app.services.problems import NotFound
from app.services.project.class_book import ClassBook
from app.services.project.ledger import Event, Kind, Ledger, agreement, consensus
from app.services.project.settings import ProjectSettings
from app.services.runtime.clock import rfc3339


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
        self._rule = ProjectSettings.stored(row.settings).consensus
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
            ledger.apply(Event.of(row))
        return ledger

    def people(self, ledger: Ledger) -> list[str]:
        """Names of all whose labels count, in alphabetical order."""
        whoever = {who for item in ledger.standings for who in ledger.votes(item)}
        return sorted({self._names.get(who, who) for who in whoever})

    def votes(self, ledger: Ledger, item: int) -> dict[str, int]:
        """The class that each person chose for an item, merged classes resolved."""
        return {who: self._classes.resolve(number) for who, number in ledger.votes(item).items()}

    def describe_item(self, ledger: Ledger, row: Any) -> dict[str, Any]:
        """An item with its label and votes."""
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
        """An event with names instead of ids."""
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
        """An item with its history, and the answer of whoever reads it."""
        row = self._row(key)
        history = events.of_item(self._connection, self._id, row.number)
        ledger = Ledger()
        for event in history:
            ledger.apply(Event.of(event))
        own = ledger.standing(row.number, reader)
        return self.describe_item(ledger, row) | {
            "own": None if own is None else {"kind": own.kind, "label": self._class_name(own.class_number)},
            "history": [self.event(event) for event in history],
        }

    def page(self, after: int, limit: int) -> tuple[list[dict[str, Any]], str | None]:
        """Items behind this number, and the cursor of the next page."""
        rows = items.page(self._connection, self._id, after, limit)
        ledger = self.ledger([row.number for row in rows])
        after_these = str(rows[-1].number) if len(rows) == limit else None
        return [self.describe_item(ledger, row) for row in rows], after_these

    def contested(self) -> dict[int, dict[str, int]]:
        """Votes on items that several people label, by item."""
        ledger = self.ledger(events.several_people(self._connection, self._id))
        votes = {item: self.votes(ledger, item) for item in ledger.standings}
        return {item: cast for item, cast in votes.items() if len(cast) > 1}

    def items_with_numbers(self, ledger: Ledger, numbers: Sequence[int]) -> list[dict[str, Any]]:
        """Items by their numbers, in this order."""
        rows = items.with_numbers(self._connection, self._id, numbers)
        return [self.describe_item(ledger, rows[number]) for number in numbers]

    def history(self, after: int, limit: int) -> list[dict[str, Any]]:
        """Events behind this sequence number, in their order."""
        rows = events.page(self._connection, self._id, after, limit)
        return self._with_keys(rows)

    def agreement(self) -> dict[str, Any]:
        """How much people agree on items with several votes."""
        n, share, alpha = agreement(self.contested().values())
        return {"items": n, "agreement": share, "alpha": alpha}

    def annotators(self) -> list[dict[str, Any]]:
        """Who labelled how many items."""
        rows = events.by_person(self._connection, self._id)
        return [
            {"name": self._names.get(row.key_id, row.key_id), "items": row.items, "last_at": row.last_at}
            for row in rows
        ]

    def newest(self, which: EventFilter, before: int | None, limit: int) -> tuple[list[dict[str, Any]], str | None]:
        """Events that fit, the newest first, and the cursor of the next page."""
        item = items.with_keys(self._connection, self._id, [which.key]) if which.key is not None else {}
        if which.key is not None and not item:
            return [], None
        by_sql = events.EventQuery(
            item[which.key].number if which.key is not None else None,
            self._ids_of(which.annotator) if which.annotator is not None else None,
            which.kind,
            self._classes.numbers(which.label) if which.label is not None else None,
        )
        rows = events.newest(self._connection, self._id, by_sql, before, limit)
        return self._with_keys(rows), str(rows[-1].sequence) if len(rows) == limit else None

    def _with_keys(self, rows: Sequence[Any]) -> list[dict[str, Any]]:
        known = items.with_numbers(self._connection, self._id, sorted({row.item for row in rows}))
        return [{"key": known[row.item].key} | self.event(row) for row in rows]

    def _ids_of(self, name: str) -> list[str]:
        return [key_id for key_id, own in self._names.items() if own == name]


def list_items(database: Database, project_id: str, after: int | None, limit: int) -> dict[str, Any]:
    """A page of items in the order they came."""
    with database.read() as connection:
        found, after_these = Report(connection, project_id).page(-1 if after is None else after, limit)
    return {"items": found, "next": after_these}


def get_item(database: Database, project_id: str, key: str, reader: str) -> dict[str, Any]:
    """An item with its history, and the answer of whoever reads it."""
    with database.read() as connection:
        return Report(connection, project_id).item(key, reader)


def get_features(database: Database, project_id: str, key: str, width: int | None) -> dict[str, Any]:
    """The features of an item, of so many columns."""
    with database.read() as connection:
        columns, values = Report(connection, project_id).features(key)
    return {"columns": width or 0, "indices": columns, "values": values}


def list_events(
    database: Database, project_id: str, which: EventFilter, before: int | None, limit: int
) -> dict[str, Any]:
    """A page of events, the newest first."""
    with database.read() as connection:
        found, after_these = Report(connection, project_id).newest(which, before, limit)
    return {"events": found, "next": after_these}


def get_agreement(database: Database, project_id: str) -> dict[str, Any]:
    """How much people agree on items with several votes."""
    with database.read() as connection:
        return Report(connection, project_id).agreement()


def attach_data(database: Database, project_id: str, answer: dict[str, Any]) -> dict[str, Any]:
    """Add to items what people look at, which the writer has no time for."""
    with database.read() as connection:
        rows = items.with_numbers(connection, project_id, [entry["item"] for entry in answer["items"]])
    return answer | {"items": [entry | {"data": rows[entry["item"]].data} for entry in answer["items"]]}
