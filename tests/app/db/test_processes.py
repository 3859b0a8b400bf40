import os
import socket
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import select, update

from app.db.database import AlreadyOwned, Database, DatabaseUnavailable, OwnershipLost
from app.db.tables import projects
from tests.app.db.processes import READ, WRITE, command, owner
from tests.app.db.rows import add_project, count, end_ownership, kill_sessions


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


@pytest.fixture
def rival(postgresql_url, tmp_path):
    """Another process's database, which may own it when nobody does."""
    (tmp_path / "rival").mkdir()
    rival = Database(postgresql_url)
    yield rival
    rival.close()


def test_who_lost_the_database_within_a_transaction_cannot_commit(postgresql_database, rival, tmp_path):
    postgresql_database.own(tmp_path)

    def write_too_late():
        with postgresql_database.write() as connection:
            add_project(connection)
            end_ownership(rival)
            own_within(rival, tmp_path / "rival", seconds=5)

    with pytest.raises(DatabaseUnavailable):
        write_too_late()
    with pytest.raises(OwnershipLost), postgresql_database.write() as connection:
        add_project(connection)
    with rival.write() as connection:
        assert count(connection, projects) == 0
        add_project(connection, "q")
    assert not postgresql_database.still_owned()


def test_who_lost_the_database_writes_again_when_it_has_read_what_others_wrote(postgresql_database, rival, tmp_path):
    postgresql_database.own(tmp_path)
    end_ownership(rival)
    own_within(rival, tmp_path / "rival", seconds=5)
    assert not postgresql_database.still_owned()
    with pytest.raises(AlreadyOwned, match="already serves"):
        postgresql_database.own_again()
    rival.disown()
    own_again_within(postgresql_database, seconds=5)
    assert postgresql_database.still_owned()
    with pytest.raises(OwnershipLost), postgresql_database.write() as connection:
        add_project(connection)
    postgresql_database.resume()
    with postgresql_database.write() as connection:
        add_project(connection)


def own_again_within(database, seconds):
    end = time.monotonic() + seconds
    while True:
        try:
            return database.own_again()
        except AlreadyOwned:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


def test_a_session_that_outlived_its_connection_does_not_keep_the_database(postgresql_database, tmp_path):
    """A cut cable: we see an end, the server sees nothing and holds the lock for us."""
    postgresql_database.own(tmp_path)
    with postgresql_database.write() as connection:
        own = connection.connection.driver_connection.fileno()
    cable, (here, there) = os.dup(own), socket.socketpair()
    there.close()
    os.dup2(here.fileno(), own)
    here.close()
    assert not postgresql_database.still_owned()
    own_again_within(postgresql_database, seconds=10)
    assert postgresql_database.still_owned()
    os.close(cable)


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
