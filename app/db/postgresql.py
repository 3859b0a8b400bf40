"""PostgreSQL by psycopg 3: the same promises as SQLite, one writer at a time among them."""

import json
from functools import partial
from typing import Any

from sqlalchemy import URL, Connection, Engine, ExceptionContext, create_engine, event

from app.db.locks import WAIT_SECONDS, AdvisoryOwnership, WriteLock

OWNER_KEY = 0x61736B6E657874_01  # "asknext", and a number for each use
WRITER_KEY = 0x61736B6E657874_02

_CONNECTION_OPTIONS = {
    "application_name": "asknext",
    "connect_timeout": "5",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
}
# synchronous_commit may have been switched off for the server, the database or the role.
_ON_CONNECT = (
    "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'",
    f"SET lock_timeout = '{WAIT_SECONDS:g}s'",
    # The server gives up a client that is gone, and with it the ownership, as soon as clients give up the server.
    "SET tcp_keepalives_idle = 10",
    "SET tcp_keepalives_interval = 5",
    "SET tcp_keepalives_count = 3",
)


class Postgresql:
    """The engines for one database of a server."""

    dialect = "postgresql"
    probe = "SELECT 1"
    journal = "PostgreSQL with synchronous_commit=on: a commit returns when the server has flushed it to disk"

    def __init__(self, url: URL) -> None:
        self._url = url.set(drivername="postgresql+psycopg", query={**_CONNECTION_OPTIONS, **url.query})
        self.write_lock = WriteLock()
        self.writers = self._writing_engine(max_overflow=1)  # of a process beside the owner
        self._reading = _engine(self._url, pool_pre_ping=True, pool_size=10, max_overflow=20)
        self.readers = self._reading.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)

    def own(self) -> AdvisoryOwnership:
        """Own the database."""
        return AdvisoryOwnership(self._writing_engine, self.write_lock, OWNER_KEY)

    def _writing_engine(self, max_overflow: int = 0) -> Engine:
        engine = _engine(self._url, pool_pre_ping=True, pool_size=1, max_overflow=max_overflow)
        event.listen(engine, "begin", _take_write_lock)
        return engine

    def close(self) -> None:
        """Close all connections."""
        self._reading.dispose()
        self.writers.dispose()


def _engine(url: URL, **options: Any) -> Engine:
    engine = create_engine(url, json_serializer=partial(json.dumps, allow_nan=False), hide_parameters=True, **options)

    @event.listens_for(engine, "connect")
    def set_up(connection: Any, _record: Any) -> None:
        connection.autocommit = True
        for statement in _ON_CONNECT:
            connection.execute(statement)
        connection.autocommit = False

    @event.listens_for(engine, "handle_error")
    def close_cursor(context: ExceptionContext) -> None:
        """SQLAlchemy leaves the cursor of a lost connection to the garbage collector, which psycopg warns of."""
        if context.is_disconnect and context.execution_context is not None:  # context.cursor is never set
            context.execution_context.cursor.close()

    return engine


def _take_write_lock(connection: Connection) -> None:
    """Writers of all processes take turns, so what they read stays true and events commit in their sequence."""
    if connection.get_execution_options().get("isolation_level") == "AUTOCOMMIT":
        return  # nothing but the lock of the owner is taken so
    connection.exec_driver_sql("SELECT pg_advisory_xact_lock(%s)", (WRITER_KEY,))
