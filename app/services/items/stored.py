"""Items as a table that is read from the database, here or by workers of a cluster."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import Connection

from app.db import items
from app.db.database import Database
from app.services.items import features
from app.services.project.state import Project
from app.services.runtime.checks import Check, go_on
from app.settings import ServiceSettings
from core._types import Table
from core.histograms import Chunked
from core.histograms.chunked import BLOCK_ROWS


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


def item_table(project: Project, start: int, stop: int, check: Check = go_on) -> Table:
    """Features of items; many of them are read from the database in blocks, each time they are gone through.

    First items that a cluster is to read are always read in blocks.
    """
    shape = stop - start, project.width or 1
    read = StoredItems(project.id, shape[1], start, project.database, check)
    whole = shape[0] <= BLOCK_ROWS and (start > 0 or project.engine is None)
    return read(0, shape[0]) if whole else Chunked(shape, read)


@cache
def _own_database(url: str) -> Database:
    return Database(url, checkpoints=False, writes=False)
