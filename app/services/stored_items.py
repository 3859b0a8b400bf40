"""Items as a table that is read from the database, here or by workers of a cluster."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import Connection

from app.db import items
from app.db.database import Database
from app.services import features
from app.services.budgets import Check, go_on
from app.settings import ServiceSettings
from core._types import Table


@dataclass(frozen=True)
class StoredItems:
    """Reads rows of a project from a number on; where it is sent, from the database that is set there.

    So neither URL nor password travels.
    """

    project_id: str
    width: int
    start: int = 0
    database: Database | None = None  # here
    check: Check = go_on

    def __call__(self, first: int, last: int) -> Table:
        """The rows from the first to before the last."""
        database = self.database or _own_database(ServiceSettings().database_url)
        first, last = self.start + first, self.start + last
        with database.read() as connection:
            return features.table(self._rows(connection, first, last), self.width)

    def _rows(self, connection: Connection, first: int, last: int) -> Iterator[bytes]:
        for row in items.stream_features(connection, self.project_id, first, last):
            self.check()
            yield row

    def __reduce__(self) -> Any:
        return StoredItems, (self.project_id, self.width, self.start)


@cache
def _own_database(url: str) -> Database:
    return Database(url, checkpoints=False, writes=False)
