"""What a project's encoder tells of itself. Features that come as numbers have none."""

from typing import Any

from sqlalchemy import Connection


def described(connection: Connection, project_id: str) -> dict[str, Any] | None:  # noqa: ARG001
    """How raw items became features, for people to read."""
    return None


def column_names(connection: Connection, project_id: str) -> list[str] | None:  # noqa: ARG001
    """What the columns are called, where that means something to people."""
    return None
