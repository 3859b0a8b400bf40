"""What a project's encoder tells of itself. Features that come as numbers have none."""

from dataclasses import asdict
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection

from app.db import encoders
from app.encoders import restore
from app.services.project import StoredEncoder


def described(connection: Connection, project_id: str) -> dict[str, Any] | None:
    """How raw items became features, for people to read."""
    row = encoders.shown(connection, [project_id]).get(project_id)
    return None if row is None else asdict(StoredEncoder.of(row))


def column_names(connection: Connection, project_id: str) -> list[str] | None:
    """What the columns are called, where that means something to people."""
    row = encoders.get(connection, project_id)
    return None if row is None else _names(bytes(row.state))


@lru_cache(maxsize=16)
def _names(state: bytes) -> list[str] | None:
    return restore(state).names()
