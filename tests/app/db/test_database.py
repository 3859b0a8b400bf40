import gc
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from sqlalchemy import insert, select, text, update
from sqlalchemy.exc import DBAPIError, IntegrityError, StatementError

from app.db import events, tables
from app.db.database import Database, DatabaseUnavailable
from app.db.locks import WriteLock
from app.db.migrate import migrate
from app.db.sqlite import has_wal_reset_bug
from app.db.tables import items, projects
from tests.app.db.rows import add_project, count, kill_sessions


def pragmas(connection):
    names = ("journal_mode", "synchronous", "foreign_keys", "busy_timeout", "query_only", "wal_autocheckpoint")
    return tuple(connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in names)


def test_every_sqlite_connection_is_durable(sqlite_database):
    with ExitStack() as stack:
        readers = [stack.enter_context(sqlite_database.read()) for _ in range(20)]
        writer = stack.enter_context(sqlite_database.write())
        full = 2
        assert {pragmas(reader) for reader in readers} == {("wal", full, 1, 30000, 1, 0)}
        assert pragmas(writer) == ("wal", full, 1, 30000, 0, 1000)


def test_every_postgresql_connection_is_durable(postgresql_url):
    database = Database(postgresql_url)
    with database.write() as connection:
        name = connection.scalar(text("SELECT current_database()"))
        connection.execute(text(f"ALTER DATABASE {name} SET synchronous_commit = off"))
    database.close()
    database = Database(postgresql_url)
    with database.read() as reader, database.write() as writer:
        for connection in (reader, writer):
            assert connection.scalar(text("SHOW synchronous_commit")) == "on"
    database.close()


def test_versions_with_the_wal_reset_bug():
    affected = [(3, 7, 0), (3, 40, 1), (3, 44, 5), (3, 45, 0), (3, 50, 6), (3, 51, 2)]
    free = [(3, 6, 23), (3, 44, 6), (3, 50, 7), (3, 51, 3), (3, 53, 0)]
    assert [version for version in affected + free if has_wal_reset_bug(version)] == affected


def test_journal_names_the_library_and_the_reason(database):
    if database.dialect == "sqlite":
        assert sqlite3.sqlite_version in database.journal
        assert "WAL-reset bug" in database.journal
    else:
        assert "synchronous_commit=on" in database.journal


def test_threads_that_read_then_write_lose_nothing(database):
    with database.write() as connection:
        add_project(connection)

    def add_one(_):
        with database.write() as connection:
            revision = connection.scalar(select(projects.c.revision))
            connection.execute(update(projects).values(revision=revision + 1))

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(add_one, range(800)))
    with database.read() as connection:
        assert connection.scalar(select(projects.c.revision)) == 801


def test_an_exception_rolls_back(database):
    def fail():
        with database.write() as connection:
            add_project(connection)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with database.read() as connection:
        assert count(connection, projects) == 0


def test_a_reader_sees_one_state_and_cannot_write(database):
    with database.read() as reader:
        assert count(reader, projects) == 0
        with database.write() as writer:
            add_project(writer)
        assert count(reader, projects) == 0
    with pytest.raises(DBAPIError, match=r"readonly|read-only"), database.read() as reader:
        add_project(reader, "q")
    with database.read() as reader:
        assert count(reader, projects) == 1


def test_a_streaming_reader_does_not_hold_up_a_writer(database):
    rows = [
        {"project_id": "p", "number": n, "key": str(n), "batch": 0, "features": b"x" * 500, "created_at": 0.0}
        for n in range(2000)
    ]
    with database.write() as connection:
        add_project(connection)
        connection.execute(insert(items), rows)
    with database.read() as reader:
        stream = iter(reader.execution_options(yield_per=10).execute(select(items)))
        next(stream)
        started = time.monotonic()
        with database.write() as writer:
            writer.execute(update(items).values(batch=1))
        assert time.monotonic() - started < 30
        assert {row.batch for row in stream} == {0}


def test_mistakes_of_the_caller_pass_unchanged(database):
    with database.write() as connection:
        add_project(connection)
    with pytest.raises(IntegrityError), database.write() as connection:
        add_project(connection)
    with pytest.raises(DBAPIError, match=r"nowhere"), database.read() as connection:
        connection.execute(text("SELECT * FROM nowhere"))
    with pytest.raises((StatementError, ValueError), match="JSON compliant"), database.write() as connection:
        connection.execute(update(projects).values(settings={"x": float("nan")}))


def test_a_full_disk_is_unavailable_and_nothing_is_half_written(sqlite_database):
    with sqlite_database.write() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
        connection.exec_driver_sql(f"PRAGMA max_page_count={pages + 2}")

    def write_too_much():
        with sqlite_database.write() as connection:
            add_project(connection, "p")
            add_project(connection, "q" * 100_000)

    with pytest.raises(DatabaseUnavailable, match="full"):
        write_too_much()
    with sqlite_database.write() as connection:
        assert count(connection, projects) == 0
        connection.exec_driver_sql("PRAGMA max_page_count=1000000")
        add_project(connection, "q" * 100_000)


def test_a_locked_database_is_unavailable(sqlite_database, tmp_path):
    with sqlite_database.write() as connection:
        connection.exec_driver_sql("PRAGMA busy_timeout=10")
    stranger = sqlite3.connect(tmp_path / "asknext.db", isolation_level=None)
    stranger.execute("BEGIN IMMEDIATE")
    with pytest.raises(DatabaseUnavailable, match="locked"), sqlite_database.write():
        pass
    stranger.close()
    with sqlite_database.write() as connection:
        add_project(connection)


def test_a_lost_connection_is_unavailable_and_the_next_one_works(postgresql_database):
    def write_across_a_kill():
        with postgresql_database.write() as connection:
            add_project(connection)
            kill_sessions(postgresql_database, "pid <> pg_backend_pid()")
            add_project(connection, "q")

    with pytest.raises(DatabaseUnavailable):
        write_across_a_kill()
    with postgresql_database.write() as connection:
        assert count(connection, projects) == 0
        add_project(connection)
    postgresql_database.ping()


@pytest.mark.parametrize("moment", ["begun", "written"])
def test_a_connection_lost_around_a_part_of_a_transaction(postgresql_database, moment):
    """The whole transaction is lost, and that is what is told."""
    told = []

    def write_across_a_kill(connection):
        if moment == "begun":
            kill_sessions(postgresql_database, "pid <> pg_backend_pid()")
        try:
            with postgresql_database.part(connection):
                add_project(connection)
                kill_sessions(postgresql_database, "pid <> pg_backend_pid()")
        except Exception as error:
            told.append(type(error))
            raise

    with pytest.raises(DatabaseUnavailable), postgresql_database.write() as connection:
        write_across_a_kill(connection)
    assert told == [DatabaseUnavailable]
    with postgresql_database.write() as connection:
        assert count(connection, projects) == 0


def test_a_part_of_a_transaction_is_rolled_back_by_itself(database):
    def fail(connection):
        with database.part(connection):
            add_project(connection, "q")
            add_project(connection)

    with database.write() as connection:
        add_project(connection)
        with pytest.raises(IntegrityError):
            fail(connection)
        add_project(connection, "r")
    with database.read() as connection:
        assert set(connection.scalars(select(projects.c.id))) == {"p", "r"}


def test_without_a_server_or_folder_the_database_is_unavailable(tmp_path):
    database = Database(f"postgresql://nobody@/nothing?host={tmp_path}")
    for attempt in (database.ping, lambda: database.own(tmp_path), lambda: migrate(database)):
        with pytest.raises(DatabaseUnavailable):
            attempt()
    database.close()
    with pytest.raises(DatabaseUnavailable, match="No such file"):
        Database(f"sqlite:///{tmp_path}/nowhere/a.db")
    (tmp_path / "a.db").write_text("this is no database " * 100)
    with pytest.raises(DatabaseUnavailable, match="not a database"):
        Database(f"sqlite:///{tmp_path}/a.db")


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:", "sqlite:///file:x?uri=true", "mysql://a/b"])
def test_other_urls_are_refused(url):
    with pytest.raises(ValueError, match="expected"):
        Database(url)


def test_a_writer_that_never_ends_does_not_block_for_ever(tmp_path):
    lock, beside = (WriteLock(tmp_path / "writing", timeout=0.05) for _ in range(2))
    with lock.take():
        for other, who in ((lock, "another write"), (beside, "another process")):
            with pytest.raises(DatabaseUnavailable, match=who), other.take():
                pass
    with beside.take():
        pass
    lock.close()
    beside.close()


def test_a_stream_that_a_lost_connection_cuts_leaves_no_cursor_open(postgresql_database):
    """The cursor is closed where the rows end, not when somebody collects it: psycopg would warn of that."""
    event = {"project_id": "p", "item": 0, "key_id": "k", "actor_id": "k", "kind": "label", "drawn": False}
    with postgresql_database.write() as connection:
        add_project(connection)
        connection.execute(insert(tables.events), [event | {"created_at": 2.5}] * 6000)
    cursors = []

    def read():
        with postgresql_database.read() as connection:
            stream = events.stream(connection, "p")
            next(stream)
            cursors.append(stream.gi_frame.f_locals["rows"].cursor)
            kill_sessions(postgresql_database, "pid <> pg_backend_pid()")
            list(stream)

    with pytest.raises(DatabaseUnavailable):
        read()
    assert [cursor.closed for cursor in cursors] == [True]


@pytest.mark.filterwarnings("error")
def test_a_stream_that_cannot_begin_leaves_no_cursor_open(postgresql_database):
    """The connection was lost before the query: the cursor is made, and fails."""

    def read():
        with postgresql_database.read() as connection:
            connection.execute(text("SELECT 1"))
            kill_sessions(postgresql_database, "pid <> pg_backend_pid()")
            next(events.stream(connection, "p"))

    with pytest.raises(DatabaseUnavailable):
        read()
    gc.collect()  # psycopg would warn of it now
