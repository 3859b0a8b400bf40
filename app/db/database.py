"""The one door to the database: read, write, own."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, Engine, make_url

from app.db.errors import AlreadyOwned, DatabaseUnavailable, OwnershipLost, translated
from app.db.locks import AdvisoryOwnership, FileOwnership
from app.db.postgresql import Postgresql
from app.db.sqlite import Sqlite

__all__ = ["AlreadyOwned", "Database", "DatabaseUnavailable", "OwnershipLost"]


class Database:
    """A database by its URL: sqlite:///path or postgresql://user@host/name.

    With `checkpoints=False` a process beside the running service leaves the work of checkpoints to it (SQLite). With
    `writes=False` it only reads, and needs no lock for that: it may be asked to read by whoever holds the lock.
    """

    def __init__(self, url: str, *, checkpoints: bool = True, writes: bool = True) -> None:
        self._backend = _backend(url, checkpoints, writes)
        self._ownerships: list[FileOwnership | AdvisoryOwnership] = []
        self._suspended = False  # ownership was lost, and what others may have written was not read yet
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
        """A transaction that has all writing for itself: committed at the end, rolled back on any exception.

        A process that has owned the models and lost them gets OwnershipLost until it owns them again and resumes.
        """
        try:
            with translated(writing=True), self._backend.write_lock.take(), self._writers().begin() as connection:
                yield connection
        except DatabaseUnavailable as error:
            self._write_failed = True
            self._suspended = self._suspended or isinstance(error, OwnershipLost)
            raise
        self._write_failed = False

    def _writers(self) -> Engine:
        """The connection of the owner, which is lost together with the ownership, or that of a process beside it."""
        if self._suspended:
            raise OwnershipLost("another process may have written, and this has not been read yet")
        owners = [own.writers for own in self._ownerships if isinstance(own, AdvisoryOwnership)]
        return owners[0] if owners else self._backend.writers

    @contextmanager
    def part(self, connection: Connection) -> Iterator[None]:
        """A part of a transaction that is rolled back by itself on an exception, unless all of it is lost."""
        with translated(writing=True):
            savepoint = connection.begin_nested()
        try:
            with translated(writing=True):
                yield
                savepoint.commit()
        except DatabaseUnavailable:
            raise
        except BaseException:
            savepoint.rollback()
            raise

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
        """Whether this process owns the models; on PostgreSQL a lost connection has lost them, and suspends writing."""
        owned = bool(self._ownerships) and all(ownership.held() for ownership in self._ownerships)
        self._suspended = self._suspended or bool(self._ownerships and not owned)
        return owned

    def own_again(self) -> None:
        """Take back what was lost, or raise AlreadyOwned; writing stays suspended."""
        with translated():
            for ownership in self._ownerships:
                if not ownership.held():
                    ownership.take()

    @property
    def is_suspended(self) -> bool:
        """Whether writing is refused, since others may have written while this process did not own the models."""
        return self._suspended

    def resume(self) -> None:
        """Write again: what others wrote has been read."""
        self._suspended = False

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
