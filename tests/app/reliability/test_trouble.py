"""D8: no room on the disk, errors in writing, a database that does not move."""

import os
import resource
import signal
import subprocess
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from tests.app.live import in_thread
from tests.app.reliability.people import Books, Crowd, Site, client, done
from tests.app.reliability.servers import scaled

pytestmark = pytest.mark.alone


def recover(site, books, within=5.0):
    """Ready again within seconds; what was refused can be posted again."""
    end = time.monotonic() + within
    while site.admin.get("/health/ready").status_code != 200:
        assert time.monotonic() < end, "not ready again"
        time.sleep(0.05)
    history, model = books.check(site), done(site.admin.get(f"{site.path}/model"))
    assert model["labelled"] == len(site.lines()), "the model has learnt what was not written"
    assert model["sequence"] == max(event["sequence"] for event in history)
    for note in [*books.refused, *books.unanswered]:
        assert books.repeat(site, note).status_code == 201
    assert not books.refused
    assert not books.unanswered
    assert len(books.check(site)) == len(books.posted)
    assert not model["degraded"]


def post_until_refused(site, books, most=3000):
    """Until ten posts in a row were refused."""
    refused = 0
    for n in range(most):
        answer = books.post(site, 0, f"post-{n}", site.keys[n % len(site.keys)], "red", next={"count": 1})
        refused = refused + 1 if answer.status_code != 201 else 0
        if refused:
            assert answer.status_code == 503
            assert int(answer.headers["Retry-After"]) > 0
            assert answer.headers["Content-Type"] == "application/problem+json"
        if refused == 10:
            return
    pytest.fail("never refused")


def test_a_full_database_file(sqlite_url, tmp_path):
    books = Books()
    with in_thread(sqlite_url, tmp_path / "data") as (address, service), Site(address, 50, 1) as site:
        with service.database.write() as connection:
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
            connection.exec_driver_sql(f"PRAGMA max_page_count={pages + 3}")
        post_until_refused(site, books)
        assert len(books.answers) > 5
        books.check(site)
        with service.database.write() as connection:
            connection.exec_driver_sql("PRAGMA max_page_count=1000000")
        recover(site, books)


@contextmanager
def small_disk():
    """A file system of 4 MiB."""
    with tempfile.TemporaryDirectory() as folder:
        mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", folder]
        if subprocess.run(mount, check=False, capture_output=True).returncode:
            pytest.skip("needs the right to mount a file system")
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", "--lazy", folder], check=True)


def fill(file):
    """Until there is no room left."""
    with file.open("wb", buffering=0) as filler, suppress(OSError):
        while True:
            filler.write(b"x" * 4096)


def test_a_full_disk(serve):
    books = Books()
    with small_disk() as disk:
        server = serve(f"sqlite:///{disk / 'asknext.db'}")
        with Site(server.address, 50, 1) as site:
            assert books.post(site, 0, "first", site.keys[0], "red").status_code == 201
            fill(disk / "filler")
            post_until_refused(site, books)
            assert site.admin.get("/health/ready").status_code == 503
            assert site.admin.get("/health/live").status_code == 200
            (disk / "filler").unlink()
            recover(site, books)
            server.kill()
            server.start()
            books.check(site)
        assert server.stop() == 0


def test_errors_in_writing(serve, sqlite_url):
    """No file of the process may be written for a while: not the log, not the database, not a snapshot."""
    server, books = serve(sqlite_url, {"ASKNEXT_SNAPSHOT_SECONDS": "0.1"}), Books()
    with Site(server.address, 50, 1) as site:
        assert books.post(site, 0, "first", site.keys[0], "red").status_code == 201
        pid = server.process.pid
        before = resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        post_until_refused(site, books)
        assert site.admin.get("/health/ready").status_code == 503
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)
        recover(site, books)
        assert server.process.pid == pid
    assert server.stop() == 0


def family(pid):
    """A process and its children."""
    children = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return [pid, *children]


@contextmanager
def paused(server):
    """A PostgreSQL server that does not move; new connections hang as well."""
    processes = family(server.get_pid())
    try:
        for pid in processes:
            os.kill(pid, signal.SIGSTOP)
        yield
    finally:
        for pid in processes:
            os.kill(pid, signal.SIGCONT)


def test_a_database_that_pauses(serve, postgresql_server, postgresql_url):
    server, books = serve(postgresql_url), Books()
    with Site(server.address, 50, 8) as site:
        pid = server.process.pid
        with Crowd(site, books, seed=1, pause=0.05, bad=0.0) as crowd:
            time.sleep(0.5)
            with paused(postgresql_server), client(server.address, timeout=scaled(5.0, 0.5)) as probe:
                time.sleep(0.5)
                answered = len(books.answers)
                end = time.monotonic() + scaled(2, 60)
                while time.monotonic() < end:
                    assert probe.get("/health/live").status_code == 200
                    with suppress(httpx.ReadTimeout):  # no answer is no "ready"
                        assert probe.get("/health/ready").status_code == 503
                    time.sleep(0.5)
                assert len(books.answers) == answered, "answered without a database"
            moving = time.monotonic()
            while len(books.answers) == answered:
                assert time.monotonic() < moving + scaled(30.0, 5.0), "no label was taken in time"
                time.sleep(0.01)
            crowd.stopping.set()
        assert crowd.errors == []
        assert set(books.refused.values()) <= {503}
        recover(site, books)
        assert server.process.pid == pid
    assert server.stop() == 0
