"""What tests do to a database."""

from contextlib import contextmanager

from sqlalchemy import func, insert, select, text

from app.db import encoders
from app.db.postgresql import OWNER_KEY
from app.db.tables import events, projects


def add_project(connection, name="p"):
    connection.execute(insert(projects).values(id=name, name=name, settings={"a": [1]}, created_at=1.5))


def add_event(connection, project="p", **values):
    row = {
        "project_id": project,
        "item": 0,
        "key_id": "k",
        "actor_id": "k",
        "kind": "label",
        "drawn": False,
        "created_at": 2.5,
    }
    connection.execute(insert(events).values(row | values))


def add_encoder(connection, project="p", **values):
    row = {
        "kind": "text",
        "why": "a column of texts",
        "channels": [{"name": "words", "columns": 3}],
        "description": {"options": {"sublinear": True}},
        "state": b"\0\xff",
        "created_at": 2.5,
    }
    encoders.add(connection, {"project_id": project} | row | values)


def count(connection, table):
    return connection.scalar(select(func.count()).select_from(table))


def kill_sessions(database, which):
    with database.read() as connection:
        sessions = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND "
        return connection.execute(text(sessions + which)).all()


def end_ownership(database):
    """As if the server had lost its owner: only the session that holds the lock ends."""
    lock = f"locktype = 'advisory' AND objid = {OWNER_KEY & 0xFFFFFFFF}"
    return kill_sessions(database, f"pid IN (SELECT pid FROM pg_locks WHERE {lock})")


@contextmanager
def read_only(database):
    """SQLite cannot write for a while, as on a disk that fell back to reading."""
    with database.write() as connection:
        connection.exec_driver_sql("PRAGMA query_only = ON")
    yield
    database._backend.writers.dispose()
