import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import select, update

from app.db.database import AlreadyOwned
from app.db.tables import projects
from tests.app.db.processes import READ, WRITE, command, owner
from tests.app.db.rows import add_project, kill_sessions


def test_a_second_owner_is_refused_and_takes_over_after_a_kill(database, database_url, tmp_path):
    with owner(database_url, tmp_path) as process:
        with pytest.raises(AlreadyOwned, match="already serves"):
            database.own(tmp_path)
        other_folder = tmp_path / "other"
        other_folder.mkdir()
        with pytest.raises(AlreadyOwned, match="already serves"):
            database.own(other_folder)
        assert not database.still_owned()
        process.kill()
        process.wait()
        own_within(database, tmp_path, seconds=5)
    assert database.still_owned()
    database.disown()
    assert not database.still_owned()


def own_within(database, folder, seconds):
    end = time.monotonic() + seconds
    while True:
        try:
            return database.own(folder)
        except AlreadyOwned:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


def test_an_owner_notices_that_its_connection_is_lost(postgresql_database, tmp_path):
    postgresql_database.own(tmp_path)
    assert postgresql_database.still_owned()
    kill_sessions(postgresql_database, "pid IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory')")
    assert not postgresql_database.still_owned()
    assert not postgresql_database.still_owned()
    own_within(postgresql_database, tmp_path, seconds=5)
    assert postgresql_database.still_owned()


def test_an_owner_notices_that_its_lock_file_is_gone(sqlite_database, tmp_path):
    sqlite_database.own(tmp_path)
    (tmp_path / "asknext.db.owner").unlink()
    assert not sqlite_database.still_owned()


def test_a_process_beside_the_service_leaves_checkpoints_to_it(sqlite_database, sqlite_url, tmp_path):
    with sqlite_database.write() as connection:
        add_project(connection)
    file, log = tmp_path / "asknext.db", tmp_path / "asknext.db-wal"
    before = file.stat()  # reading it here would, on closing it, drop the locks of this process
    subprocess.run(command(WRITE, sqlite_url, 300), check=True)
    assert (file.stat().st_mtime_ns, file.stat().st_size) == (before.st_mtime_ns, before.st_size)
    assert log.stat().st_size > 1200 * 4096
    with sqlite_database.write() as connection:
        assert connection.scalar(select(projects.c.revision)) == 301
        connection.execute(update(projects).values(revision=0))
    assert file.stat().st_size > 1200 * 4096


def test_a_process_that_only_reads_needs_no_turn(database_url, database):
    """A worker of a cluster reads items for a service that waits for it in the middle of a transaction."""
    with database.write() as connection:
        add_project(connection)
    with database.write() as connection:
        connection.execute(update(projects).values(revision=7))
        read = subprocess.run(command(READ, database_url), check=True, timeout=25, capture_output=True, text=True)
    assert read.stdout == "1\n"


def test_processes_and_threads_write_together(sqlite_database, sqlite_url):
    with sqlite_database.write() as connection:
        add_project(connection)
    others = [subprocess.Popen(command(WRITE, sqlite_url, 100)) for _ in range(2)]
    stop = threading.Event()

    def write():
        written = 0
        while not stop.is_set():
            with sqlite_database.write() as connection:
                connection.execute(update(projects).values(revision=projects.c.revision + 1))
            written += 1
        return written

    with ThreadPoolExecutor(2) as threads:
        counts = [threads.submit(write) for _ in range(2)]
        assert [process.wait() for process in others] == [0, 0]
        stop.set()
        total = sum(count.result() for count in counts)
    with sqlite_database.read() as connection:
        assert connection.scalar(select(projects.c.revision)) == 1 + 200 + total
        assert connection.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"
