"""What the database can fail with: it is unavailable, owned by another process, or not ours any more."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import exc

_SQLITE_UNAVAILABLE = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
}
# Connection, deadlock, resources (disk full, too many clients), lock wait, shutdown, I/O error.
_POSTGRESQL_UNAVAILABLE = ("08", "40", "53", "55P03", "57", "58")
_POSTGRESQL_READ_ONLY = "25006"


class DatabaseUnavailable(Exception):  # noqa: N818 - a state of the database, named as such
    """The database cannot answer now: disk full, I/O error, connection lost, locked. Nothing was written."""


class OwnershipLost(DatabaseUnavailable):
    """This process owned the models and does not any more, or has not read them again yet: it must not write."""


class AlreadyOwned(Exception):  # noqa: N818
    """Another process owns the models of this database."""


class NewerRevision(Exception):  # noqa: N818
    """The tables were made by a newer version."""


@contextmanager
def translated(*, writing: bool = False) -> Iterator[None]:
    """Raise DatabaseUnavailable for what is the database's fault; let the caller's own mistakes pass."""
    try:
        yield
    except exc.TimeoutError as error:
        raise DatabaseUnavailable("all connections to the database are busy") from error
    except exc.DBAPIError as error:
        if _is_unavailable(error, writing):
            raise DatabaseUnavailable(f"the database does not answer: {error.orig}") from error
        raise


def _is_unavailable(error: exc.DBAPIError, writing: bool) -> bool:
    """Read-only is a fault only where we meant to write: a lost disk or a standby server."""
    if error.connection_invalidated:
        return True
    if isinstance(error.orig, sqlite3.Error):
        code = getattr(error.orig, "sqlite_errorcode", 0) & 0xFF
        return code in _SQLITE_UNAVAILABLE or (writing and code == sqlite3.SQLITE_READONLY)
    if not isinstance(error, exc.OperationalError | exc.InterfaceError | exc.InternalError):
        return False
    state = getattr(error.orig, "sqlstate", None)
    if state is None:
        return not isinstance(error, exc.InternalError)
    return state.startswith(_POSTGRESQL_UNAVAILABLE) or (writing and state == _POSTGRESQL_READ_ONLY)
