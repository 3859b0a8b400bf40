"""The one door to the database: read, write, own."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, make_url

from app.db.errors import AlreadyOwned, DatabaseUnavailable, translated
from app.db.locks import AdvisoryOwnership, FileOwnership
from app.db.postgresql import Postgresql
from app.db.sqlite import Sqlite

__all__ = ["AlreadyOwned", "Database", "DatabaseUnavailable"]


class Database:
    """A database by its URL: sqlite:///path or postgresql://user@host/name.

    With `checkpoints=False` a process beside the running service leaves the work of checkpoints to it (SQLite). With
    `writes=False` it only reads, and needs no turn to write for that: it may be asked to read by whoever has the turn.
    """

    def __init__(self, url: str, *, checkpoints: bool = True, writes: bool = True) -> None:
        self._backend = _backend(url, checkpoints, writes)
        self._ownerships: list[FileOwnership | AdvisoryOwnership] = []
        self._write_failed = False  # the last one

    @property
    def dialect(self) -> str:
        """Either sqlite or postgresql."""
        return self._backend.dialect

    @property
    def journal(self) -> str:
        """One sentence on how commits reach the disk, to be printed at start."""
        return self._backend.journal

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection that sees the database as of its first statement and cannot write; it holds up nobody."""
        with translated(), self._backend.readers.connect() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction that has all writing for itself: committed at the end, rolled back on any exception."""
        try:
            with translated(writing=True), self._backend.turns.take(), self._backend.writers.begin() as connection:
                yield connection
        except DatabaseUnavailable:
            self._write_failed = True
            raise
        self._write_failed = False

    def ping(self) -> None:
        """Raise DatabaseUnavailable if the database does not answer, or if it could not and still cannot be written."""
        with self.read() as connection:
            connection.exec_driver_sql(self._backend.probe)
        if self._write_failed:  # a full disk can be read
            with self.write() as connection:
                connection.exec_driver_sql("UPDATE alembic_version SET version_num = version_num")

    def own(self, data_dir: Path) -> None:
        """Become the one process that owns the models of this database and the data folder, or raise AlreadyOwned."""
        self.disown()
        try:
            self._ownerships.append(FileOwnership(data_dir / "owner.lock"))
            with translated():
                self._ownerships.append(self._backend.own())
        except BaseException:
            self.disown()
            raise

    def still_owned(self) -> bool:
        """Whether this process still owns the models; on PostgreSQL a lost connection has lost them."""
        return bool(self._ownerships) and all(ownership.held() for ownership in self._ownerships)

    def disown(self) -> None:
        """Let another process own the models."""
        while self._ownerships:
            self._ownerships.pop().release()

    def close(self) -> None:
        """Give up the models and close all connections."""
        self.disown()
        self._backend.close()


def _backend(url: str, checkpoints: bool, writes: bool) -> Sqlite | Postgresql:
    parsed = make_url(url)
    match parsed.get_backend_name():
        case "sqlite":
            return Sqlite(parsed, checkpoints, writes)
        case "postgresql" | "postgres":
            return Postgresql(parsed)
        case other:
            raise ValueError(f"expected a URL that starts with sqlite or postgresql, not {other}")
