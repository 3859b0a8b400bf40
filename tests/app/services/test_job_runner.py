import pytest
from sqlalchemy import select

from app.db import jobs
from app.db.tables import jobs as table
from app.services.job_runner import Progress
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
