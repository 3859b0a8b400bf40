"""Leases: items promised to annotators."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, insert, select, update

from app.db.tables import leases

# Built once, as in app/db/events.py.
_ADD = insert(leases)
_REMOVE = delete(leases).where(leases.c.id.in_(bindparam("ids", expanding=True)))
_REMOVE_EXPIRED = delete(leases).where(
    leases.c.project_id == bindparam("project"), leases.c.expires_at <= bindparam("now")
)


def add(connection: Connection, rows: list[dict[str, Any]]) -> None:
    """Rows of the table."""
    if rows:
        connection.execute(_ADD, rows)


def every(connection: Connection, project_id: str) -> Sequence[Row[Any]]:
    """All leases of a project, run out or not."""
    return connection.execute(select(leases).where(leases.c.project_id == project_id)).all()


def extend(connection: Connection, lease_id: str, expires_at: float) -> None:
    """Move the end of a lease."""
    connection.execute(update(leases).where(leases.c.id == lease_id).values(expires_at=expires_at))


def remove(connection: Connection, lease_ids: Sequence[str]) -> None:
    """End leases."""
    if lease_ids:
        connection.execute(_REMOVE, {"ids": list(lease_ids)})


def remove_expired(connection: Connection, project_id: str, now: float) -> None:
    """End what has run out."""
    connection.execute(_REMOVE_EXPIRED, {"project": project_id, "now": now})
