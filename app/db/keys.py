"""Access keys: only digests are stored."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, func, insert, select, update

from app.db.tables import keys


def add(connection: Connection, values: dict[str, Any]) -> None:
    """A row of the table."""
    connection.execute(insert(keys).values(**values))


def by_digest(connection: Connection, digest: bytes, *, revoked: bool = False) -> Row[Any] | None:
    """The key with this digest; one that was revoked only if that is wanted."""
    query = select(keys).where(keys.c.digest == digest)
    if not revoked:
        query = query.where(keys.c.revoked_at.is_(None))
    return connection.execute(query).one_or_none()


def get(connection: Connection, key_id: str) -> Row[Any] | None:
    """A key by its id, revoked or not."""
    return connection.execute(select(keys).where(keys.c.id == key_id)).one_or_none()


def page(connection: Connection, after: str, limit: int, project_id: str | None) -> Sequence[Row[Any]]:
    """Keys in the order of their ids; those of one project, or all."""
    query = select(keys).where(keys.c.id > after)
    if project_id is not None:
        query = query.where(keys.c.project_id == project_id)
    return connection.execute(query.order_by(keys.c.id).limit(limit)).all()


def names(connection: Connection) -> dict[str, str]:
    """The name of each key, by id."""
    return {row.id: row.name for row in connection.execute(select(keys.c.id, keys.c.name))}


def revoke(connection: Connection, key_id: str, now: float) -> None:
    """Make a key useless."""
    connection.execute(update(keys).where(keys.c.id == key_id, keys.c.revoked_at.is_(None)).values(revoked_at=now))


def count_admins(connection: Connection) -> int:
    """Keys that may do everything."""
    query = select(func.count()).select_from(keys)
    query = query.where(keys.c.role == "admin", keys.c.project_id.is_(None), keys.c.revoked_at.is_(None))
    return int(connection.execute(query).scalar_one())


def rename(connection: Connection, key_id: str, name: str) -> None:
    """Another name of whoever holds it."""
    connection.execute(update(keys).where(keys.c.id == key_id).values(name=name))
