"""Label events and the requests that brought them."""

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, Row, func, insert, select, update

from app.db.tables import events, requests


def add(connection: Connection, values: dict[str, Any]) -> int:
    """The sequence number of a new event."""
    return int(connection.execute(insert(events).values(**values).returning(events.c.sequence)).scalar_one())


def stream(connection: Connection, project_id: str, after: int = 0) -> Iterator[Row[Any]]:
    """All events of a project behind this sequence number, in their order."""
    query = select(events).where(events.c.project_id == project_id, events.c.sequence > after)
    return iter(connection.execution_options(yield_per=5000).execute(query.order_by(events.c.sequence)))


def of_item(connection: Connection, project_id: str, item: int) -> Sequence[Row[Any]]:
    """The history of an item."""
    query = select(events).where(events.c.project_id == project_id, events.c.item == item)
    return connection.execute(query.order_by(events.c.sequence)).all()


def last_sequence(connection: Connection, project_id: str) -> int:
    """The sequence number of the newest event, 0 without one."""
    query = select(func.coalesce(func.max(events.c.sequence), 0)).where(events.c.project_id == project_id)
    return int(connection.execute(query).scalar_one())


def find_request(connection: Connection, project_id: str, idempotency_key: str) -> Row[Any] | None:
    """The first request with this key."""
    query = select(requests).where(requests.c.project_id == project_id, requests.c.idempotency_key == idempotency_key)
    return connection.execute(query).one_or_none()


def add_request(connection: Connection, project_id: str, idempotency_key: str, fingerprint: bytes, now: float) -> int:
    """The id of a new request."""
    query = insert(requests).values(
        project_id=project_id, idempotency_key=idempotency_key, fingerprint=fingerprint, created_at=now
    )
    return int(connection.execute(query.returning(requests.c.id)).scalar_one())


def set_answer(connection: Connection, request_id: int, answer: dict[str, Any]) -> None:
    """What a repeat of the request is answered with."""
    connection.execute(update(requests).where(requests.c.id == request_id).values(answer=answer))
