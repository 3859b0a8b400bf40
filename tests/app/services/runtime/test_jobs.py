import threading

import pytest
from sqlalchemy import select

from app.db import jobs
from app.db.tables import jobs as table
from app.services.runtime.jobs import JobRunner, Progress
from tests.app.db.rows import add_project, read_only


@pytest.fixture
def progress(sqlite_database):
    with sqlite_database.write() as connection:
        add_project(connection)
        jobs.add(connection, "j", "p", "train", 0.0)
    return Progress(sqlite_database, "j")


def told(database):
    with database.read() as connection:
        return connection.execute(select(table.c.done, table.c.message)).one()


def test_a_note_that_cannot_be_written_does_not_end_the_job(progress, sqlite_database):
    progress.phase("first")
    with read_only(sqlite_database):
        progress.phase("second")
        progress.step()
        assert told(sqlite_database) == (0, "first")
    progress.phase("third")
    assert told(sqlite_database) == (0, "third")


def test_a_job_that_was_cancelled_before_its_turn_stays_cancelled(progress, sqlite_database):
    """It is begun all the same, so that it lets go what it holds; nobody sees it run."""
    hold, seen, runner = threading.Event(), [], JobRunner(sqlite_database, 1)
    try:
        runner.start("p", "train", lambda _: {"waited": hold.wait(60)})
        job = runner.start("p", "train", lambda own: seen.append(runner.get("p", job)["state"]) or own.check())
        runner.cancel("p", job)
        assert runner.get("p", job)["state"] == "cancelled"
        hold.set()
    finally:
        hold.set()
        runner.stop()
    assert seen == ["cancelled"]
    assert runner.get("p", job)["state"] == "cancelled"
