"""Fitted encoders, at most one for each project."""

from typing import Any

from sqlalchemy import Connection, Row, insert, select

from app.db.tables import encoders


def add(connection: Connection, values: dict[str, Any]) -> None:
    """A row of the table."""
    connection.execute(insert(encoders).values(**values))


def get(connection: Connection, project_id: str) -> Row[Any] | None:
    """The encoder of a project, with its state."""
    return connection.execute(select(encoders).where(encoders.c.project_id == project_id)).one_or_none()


def without_states(connection: Connection, project_ids: list[str]) -> dict[str, Row[Any]]:
    """Encoders of several projects without their states, which may be large."""
    columns = [column for column in encoders.c if column is not encoders.c.state]
    query = select(*columns).where(encoders.c.project_id.in_(project_ids))
    return {row.project_id: row for row in connection.execute(query)}
