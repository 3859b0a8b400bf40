"""SQLite: a write-ahead log, one connection that writes, many that read."""

import json
import sqlite3
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event

from app.db.errors import DatabaseUnavailable, translated
from app.db.locks import WAIT_SECONDS, FileOwnership, WriteLock

CHECKPOINT_PAGES = 1000


class Sqlite:
    """The engines for one database file.

    Libraries with the WAL-reset bug can lose pages when one connection commits while another checkpoints
    (https://sqlite.org/wal.html#walresetbug). Here a checkpoint only happens at the end of a commit, and commits
    take turns among threads and processes; the checkpoint at the last close has the file for itself.
    """

    dialect = "sqlite"
    probe = "PRAGMA schema_version"  # unlike SELECT 1 it reads the file

    def __init__(self, url: URL, checkpoints: bool, writes: bool) -> None:
        self._path = _file_of(url)
        url = url.set(drivername="sqlite+pysqlite", database=str(self._path))
        self.write_lock = WriteLock(self._beside(".writing"))
        self.writers = _engine(url, "BEGIN IMMEDIATE", pool_size=1, max_overflow=0)
        self.readers = _engine(url, "BEGIN", pool_size=16, max_overflow=48)
        pages = CHECKPOINT_PAGES if checkpoints else 0
        _on_connect(self.writers, f"PRAGMA wal_autocheckpoint={pages}")
        _on_connect(self.readers, "PRAGMA wal_autocheckpoint=0", "PRAGMA query_only=ON")
        if writes:
            self._make_file()

    @property
    def journal(self) -> str:
        """How commits reach the disk, and why so."""
        fate = "has the WAL-reset bug" if has_wal_reset_bug(sqlite3.sqlite_version_info) else "is free of that bug"
        return (
            f"SQLite {sqlite3.sqlite_version} with a write-ahead log and synchronous=FULL; writes and checkpoints "
            f"take turns on one connection, which is safe with the WAL-reset bug too (this library {fate})"
        )

    def own(self) -> FileOwnership:
        """Own the database file."""
        return FileOwnership(self._beside(".owner"))

    def close(self) -> None:
        """Close all connections, the writing one last."""
        self.readers.dispose()
        self.writers.dispose()
        self.write_lock.close()

    def _beside(self, suffix: str) -> Path:
        return self._path.with_name(self._path.name + suffix)

    def _make_file(self) -> None:
        """Make the file and its log before the first reader comes, who may not."""
        try:
            with translated(writing=True), self.write_lock.take():
                self.writers.connect().close()
        except BaseException:
            self.close()
            raise


def has_wal_reset_bug(version: tuple[int, ...]) -> bool:
    """Whether a version of the SQLite library has the bug.

    >>> has_wal_reset_bug((3, 40, 1)), has_wal_reset_bug((3, 44, 6)), has_wal_reset_bug((3, 51, 3))
    (True, False, False)
    """
    backported = (3, 44, 6) <= version < (3, 45) or (3, 50, 7) <= version < (3, 51)
    return (3, 7) <= version < (3, 51, 3) and not backported


def _file_of(url: URL) -> Path:
    if not url.database or url.database == ":memory:" or url.database.startswith("file:"):
        raise ValueError(f"expected the path of a file, as in sqlite:///asknext.db, not {url.render_as_string()}")
    return Path(url.database).absolute()


def _engine(url: URL, begin: str, **pool: int) -> Engine:
    engine = create_engine(
        url,
        connect_args={"timeout": WAIT_SECONDS},
        json_serializer=partial(json.dumps, allow_nan=False),
        hide_parameters=True,  # errors are logged, people's data is not
        **pool,
    )
    event.listen(engine, "connect", _use_log)
    _on_connect(engine, "PRAGMA synchronous=FULL", "PRAGMA foreign_keys=ON")

    # The sqlite3 module would begin late and deferred; sqlite3.connect(autocommit=...) comes with Python 3.12
    # and knows no BEGIN IMMEDIATE.
    @event.listens_for(engine, "begin")
    def begin_transaction(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    return engine


def _use_log(connection: Any, _record: Any) -> None:
    """A file system without shared memory keeps the old journal, and says so only here."""
    (mode,) = connection.execute("PRAGMA journal_mode=WAL").fetchone()
    if mode != "wal":
        raise DatabaseUnavailable(f"the file system cannot hold a write-ahead log, only the journal {mode!r}")


def _on_connect(engine: Engine, *statements: str) -> None:
    @event.listens_for(engine, "connect")
    def run(connection: Any, _record: Any) -> None:
        connection.isolation_level = None
        for statement in statements:
            connection.execute(statement).close()
