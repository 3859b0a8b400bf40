"""Label events and the requests that brought them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, bindparam, case, func, insert, select, update

from app.db.items import CHUNK
from app.db.tables import events, requests

# Statements of every answer are built once: that takes longer than running them.
_ADD = insert(events).returning(events.c.sequence)
_FIND_REQUEST = select(requests).where(
    requests.c.project_id == bindparam("project"), requests.c.idempotency_key == bindparam("key")
)
_ADD_REQUEST = insert(requests).returning(requests.c.id)
_SET_ANSWER = update(requests).where(requests.c.id == bindparam("request")).values(answer=bindparam("given"))


def add(connection: Connection, values: dict[str, Any]) -> int:
    """The sequence number of a new event."""
    return int(connection.execute(_ADD, values).scalar_one())


def stream(connection: Connection, project_id: str, after: int = 0) -> Iterator[Row[Any]]:
    """All events of a project behind this sequence number, in their order."""
    query = select(events).where(events.c.project_id == project_id, events.c.sequence > after)
    with connection.execute(query.order_by(events.c.sequence).execution_options(yield_per=5000)) as rows:
        yield from rows


def page(connection: Connection, project_id: str, after: int, limit: int) -> Sequence[Row[Any]]:
    """Some events behind this sequence number, in their order."""
    query = select(events).where(events.c.project_id == project_id, events.c.sequence > after)
    return connection.execute(query.order_by(events.c.sequence).limit(limit)).all()


def of_item(connection: Connection, project_id: str, item: int) -> Sequence[Row[Any]]:
    """The history of an item."""
    query = select(events).where(events.c.project_id == project_id, events.c.item == item)
    return connection.execute(query.order_by(events.c.sequence)).all()


def of_items(connection: Connection, project_id: str, numbers: Sequence[int]) -> Iterator[Row[Any]]:
    """The histories of some items, each in its order."""
    for first in range(0, len(numbers), CHUNK):
        part = list(numbers[first : first + CHUNK])
        query = select(events).where(events.c.project_id == project_id, events.c.item.in_(part))
        yield from connection.execute(query.order_by(events.c.sequence))


@dataclass(frozen=True)
class EventQuery:
    """Which events: None stands for all, an empty list for none."""

    item: int | None = None
    key_ids: Sequence[str] | None = None
    kind: str | None = None
    class_numbers: Sequence[int] | None = None


def newest(
    connection: Connection, project_id: str, which: EventQuery, before: int | None, limit: int
) -> Sequence[Row[Any]]:
    """Events before this sequence number, the newest first."""
    query = select(events).where(events.c.project_id == project_id)
    if before is not None:
        query = query.where(events.c.sequence < before)
    if which.item is not None:
        query = query.where(events.c.item == which.item)
    if which.key_ids is not None:
        query = query.where(events.c.key_id.in_(which.key_ids))
    if which.kind is not None:
        query = query.where(events.c.kind == which.kind)
    if which.class_numbers is not None:
        query = query.where(events.c.class_number.in_(which.class_numbers))
    return connection.execute(query.order_by(events.c.sequence.desc()).limit(limit)).all()


def first_drawn(connection: Connection, project_id: str) -> Sequence[Any]:
    """Item, prediction and number of labels so far, for items drawn at random, at the first label that each got."""
    by_item = func.row_number().over(partition_by=events.c.item, order_by=events.c.sequence).label("by_item")
    so_far = func.row_number().over(order_by=events.c.sequence).label("labels")
    named = select(events.c.item, events.c.predicted, events.c.drawn, by_item, so_far)
    first = named.where(events.c.project_id == project_id, events.c.kind == "label").subquery()
    query = select(first.c.item, first.c.predicted, first.c.labels)
    query = query.where(first.c.by_item == 1, first.c.drawn.is_(True), first.c.predicted.is_not(None))
    return connection.execute(query.order_by(first.c.labels)).all()


def last_answered(connection: Connection, project_id: str, numbers: Sequence[int]) -> dict[int, float]:
    """When somebody last said something about each of these items."""
    last = func.max(events.c.created_at).label("last_at")
    query = select(events.c.item, last).where(events.c.project_id == project_id)
    found: dict[int, float] = {}
    for first in range(0, len(numbers), CHUNK):
        part = list(numbers[first : first + CHUNK])
        rows = connection.execute(query.where(events.c.item.in_(part)).group_by(events.c.item))
        found |= {row.item: row.last_at for row in rows}
    return found


def several_people(connection: Connection, project_id: str) -> list[int]:
    """Items that more than one person ever labelled."""
    query = select(events.c.item).where(events.c.project_id == project_id, events.c.kind == "label")
    query = query.group_by(events.c.item).having(func.count(events.c.key_id.distinct()) > 1)
    return list(connection.scalars(query.order_by(events.c.item)))


def by_person(connection: Connection, project_id: str) -> Sequence[Any]:
    """How many items each person labelled, and when they last said something."""
    is_label = case((events.c.kind == "label", events.c.item))
    last = func.max(events.c.created_at).label("last_at")
    query = select(events.c.key_id, func.count(is_label.distinct()).label("items"), last)
    query = query.where(events.c.project_id == project_id).group_by(events.c.key_id)
    return connection.execute(query.order_by(events.c.key_id)).all()


def find_request(connection: Connection, project_id: str, idempotency_key: str) -> Row[Any] | None:
    """The first request with this key."""
    return connection.execute(_FIND_REQUEST, {"project": project_id, "key": idempotency_key}).one_or_none()


def add_request(connection: Connection, project_id: str, idempotency_key: str, fingerprint: bytes, now: float) -> int:
    """The id of a new request."""
    values = {
        "project_id": project_id,
        "idempotency_key": idempotency_key,
        "fingerprint": fingerprint,
        "created_at": now,
    }
    return int(connection.execute(_ADD_REQUEST, values).scalar_one())


def set_answer(connection: Connection, request_id: int, answer: dict[str, Any]) -> None:
    """What a repeat of the request is answered with."""
    connection.execute(_SET_ANSWER, {"request": request_id, "given": answer})
