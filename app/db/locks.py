"""Locks that the system gives back when the process that holds them dies."""

import fcntl
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sqlalchemy import Engine, exc, func, select

from app.db.errors import AlreadyOwned, DatabaseUnavailable

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
        os.close(self._file)

    def is_in_place(self) -> bool:
        """Whether the path still leads to the file that was opened."""
        try:
            return os.path.samestat(os.fstat(self._file), self.path.stat())
        except FileNotFoundError:
            return False

    def write_holder(self) -> None:
        """Leave the number of this process in the file, for the message to the next one."""
        with suppress(OSError):  # a full disk spoils the message, not the lock
            os.truncate(self._file, 0)
            os.pwrite(self._file, str(os.getpid()).encode(), 0)

    def holder(self) -> str:
        """The number of the process that took the lock last."""
        return os.pread(self._file, 32, 0).decode("ascii", "replace") or "unknown"


class Turns:
    """Lets one writer in at a time: among threads, and among processes where a file is given."""

    def __init__(self, path: Path | None = None, timeout: float = WAIT_SECONDS) -> None:
        self._threads = threading.Lock()
        self._processes = FileLock(path) if path else None
        self._timeout = timeout

    @contextmanager
    def take(self) -> Iterator[None]:
        """Wait for the turn and hold it."""
        if not self._threads.acquire(timeout=self._timeout):
            raise DatabaseUnavailable(f"another write has held the database for {self._timeout:g} s")
        try:
            with self._among_processes():
                yield
        finally:
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
        self._lock = FileLock(path)
        if not self._lock.acquire():
            holder = self._lock.holder()
            self._lock.close()
            raise AlreadyOwned(
                f"process {holder} already serves this database (it holds {path}); "
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
    """Owning by an advisory lock of PostgreSQL, which lives as long as the connection that took it."""

    def __init__(self, engine: Engine, key: int) -> None:
        self._guard = threading.Lock()
        self._lost = False
        self._connection = engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        if not self._connection.scalar(select(func.pg_try_advisory_lock(key))):
            self._connection.close()
            raise AlreadyOwned(
                "another process already serves this PostgreSQL database; "
                "one process owns the models: stop it first, and run a single worker"
            )

    def held(self) -> bool:
        """Whether the connection has lived on; asks the server, so it waits while the server does."""
        with self._guard:
            if not self._lost:
                try:
                    self._connection.scalar(select(1))
                except exc.SQLAlchemyError:
                    self._lost = True
                    self._connection.close()
            return not self._lost

    def release(self) -> None:
        """Let another process own."""
        with self._guard:
            self._lost = True
            self._connection.close()
