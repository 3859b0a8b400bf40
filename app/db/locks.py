"""Locks that the system gives back when the process that holds them dies."""

import fcntl
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

from sqlalchemy import Connection, Engine, event, exc, text

from app.db.errors import AlreadyOwned, DatabaseUnavailable, OwnershipLost

WAIT_SECONDS = 30.0
_POLL_SECONDS = 0.002


class FileLock:
    """An exclusive lock on a file, made if it is not there."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise DatabaseUnavailable(f"cannot open {path}: {error.strerror}") from error

    def acquire(self, timeout: float = 0.0) -> bool:
        """Take the lock within so many seconds, or tell that it could not be had."""
        end = time.monotonic() + timeout
        while True:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= end:
                    return False
                time.sleep(_POLL_SECONDS)
            else:
                return True

    def release(self) -> None:
        """Let others have it."""
        fcntl.flock(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        """Release the lock and close the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def is_in_place(self) -> bool:
        """Whether the path still leads to the file that was opened."""
        try:
            return os.path.samestat(os.fstat(self._file), self.path.stat())
        except OSError:  # it is gone, or was closed
            return False

    def write_holder(self) -> None:
        """Leave the number of this process in the file, for the message to the next one."""
        with suppress(OSError):  # a full disk spoils the message, not the lock
            os.truncate(self._file, 0)
            os.pwrite(self._file, str(os.getpid()).encode(), 0)

    def holder(self) -> str:
        """The number of the process that took the lock last."""
        return os.pread(self._file, 32, 0).decode("ascii", "replace") or "unknown"


class WriteLock:
    """Lets one writer in at a time: among threads, and among processes where a file is given."""

    def __init__(self, path: Path | None = None, timeout: float = WAIT_SECONDS) -> None:
        self._threads = threading.Lock()
        self._processes = FileLock(path) if path else None
        self._timeout = timeout

    @contextmanager
    def take(self) -> Iterator[None]:
        """Wait for the lock and hold it."""
        if not self._threads.acquire(timeout=self._timeout):
            raise DatabaseUnavailable(f"another write has held the database for {self._timeout:g} s")
        try:
            with self._among_processes():
                yield
        finally:
            self._threads.release()

    @contextmanager
    def take_if_free(self) -> Iterator[bool]:
        """Hold the lock if no thread of this process has it; tells whether that is so."""
        free = self._threads.acquire(blocking=False)
        try:
            yield free
        finally:
            if free:
                self._threads.release()

    @contextmanager
    def _among_processes(self) -> Iterator[None]:
        if self._processes is None:
            yield
            return
        if not self._processes.acquire(self._timeout):
            raise DatabaseUnavailable(f"another process has held the database for {self._timeout:g} s")
        try:
            yield
        finally:
            self._processes.release()

    def close(self) -> None:
        """Close the file between the processes."""
        if self._processes is not None:
            self._processes.close()


class FileOwnership:
    """Owning by a lock file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.take()

    def take(self) -> None:
        """Own, for the first time or again, or raise AlreadyOwned."""
        self._lock = FileLock(self._path)
        if not self._lock.acquire():
            holder = self._lock.holder()
            self._lock.close()
            raise AlreadyOwned(
                f"process {holder} already serves this database (it holds {self._path}); "
                "one process owns the models: stop it first, and run a single worker"
            )
        self._lock.write_holder()

    def held(self) -> bool:
        """Whether the lock file is still the one that was locked."""
        return self._lock.is_in_place()

    def release(self) -> None:
        """Let another process own."""
        self._lock.close()


class AdvisoryOwnership:
    """Owning by an advisory lock of PostgreSQL, which lives as long as the connection that took it.

    All writing goes through this one connection: who has lost the lock has nothing left to commit with, however long
    the process was held up between looking and writing. Its engine pings it before each use, and makes no other.
    """

    def __init__(self, make_engine: Callable[[], Engine], write_lock: WriteLock, key: int) -> None:
        self._make_engine, self._write_lock, self._key = make_engine, write_lock, key
        self._session: tuple[Any, ...] | None = None  # process of the database server and its start
        self._lost = True
        self.take()

    def take(self) -> None:
        """Own, for the first time or again, or raise AlreadyOwned."""
        engine = self._make_engine()
        try:
            with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                if not connection.scalar(text("SELECT pg_try_advisory_lock(:key)"), {"key": self._key}):
                    self._end_former_session(connection)
                    raise AlreadyOwned(
                        "another process already serves this PostgreSQL database; "
                        "one process owns the models: stop it first, and run a single worker"
                    )
                mine = text("SELECT pid, backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()")
                self._session = tuple(connection.execute(mine).one())
        except BaseException:
            engine.dispose()
            raise
        event.listen(engine, "do_connect", self._refuse)
        self.writers = engine
        self._lost = False

    def _end_former_session(self, connection: Connection) -> None:
        """A server that was cut off from us may keep the lock for a session of ours that nobody uses any more."""
        if self._session is not None:
            end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = :pid AND backend_start = :start"
            connection.execute(text(end), dict(zip(("pid", "start"), self._session, strict=True)))

    def _refuse(self, *_: Any) -> NoReturn:
        """Another connection would not have the lock."""
        self._lost = True
        raise OwnershipLost("the connection that owned the database was lost")

    def held(self) -> bool:
        """Whether the connection has lived on; asks the server, unless a write does so just now."""
        with self._write_lock.take_if_free() as free:
            if free and not self._lost:
                try:
                    self.writers.connect().close()
                except (OwnershipLost, exc.SQLAlchemyError):
                    self.release()
        return not self._lost

    def release(self) -> None:
        """Let another process own."""
        self._lost = True
        self.writers.dispose()
