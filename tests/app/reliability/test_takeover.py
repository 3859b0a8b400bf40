"""D9: a server that lost its connection to PostgreSQL writes nothing, and takes over again by itself."""

import copy
import os
import shutil
import signal
import time
from contextlib import contextmanager

import numpy as np
import psycopg
import pytest

from tests.app.live import eventually, in_thread
from tests.app.reliability.people import Books, Crowd, Site, client, done
from tests.app.reliability.servers import scaled
from tests.app.services.projects import assert_as_rebuilt

PROMPTLY = scaled(30.0, 5.0)  # seconds; the tests of a busy machine run side by side


def cut(url):
    """End all sessions of a database, but for ours."""
    with psycopg.connect(url, autocommit=True) as connection:
        others = "datname = current_database() AND pid <> pg_backend_pid()"
        connection.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}")


def is_ready(site):
    return site.admin.get("/health/ready").status_code == 200


def repeat_all(site, books):
    """What was refused or not answered is posted again: then everything is there once."""
    for note in [*books.refused, *books.unanswered]:
        assert books.repeat(site, note).status_code == 201
    assert len(books.check(site)) == len(books.posted)


def test_lost_connections_cost_nothing(postgresql_url, tmp_path):
    books = Books()
    with in_thread(postgresql_url, tmp_path / "data") as (address, service), Site(address, 50, 4) as site:
        with Crowd(site, books, seed=1, pause=0.02, bad=0.0) as crowd:
            for _ in range(scaled(2, 8)):
                enough = len(books.answers) + 10
                cut(postgresql_url)
                eventually(lambda: len(books.answers), enough.__lt__, seconds=PROMPTLY)
                eventually(lambda: is_ready(site), seconds=PROMPTLY)
        assert crowd.errors == []
        assert set(books.refused.values()) <= {503}
        repeat_all(site, books)
        site.wait_until_quiet()
        assert_as_rebuilt(service.running(site.project))


@contextmanager
def stopped(server):
    """A process that does not move."""
    os.kill(server.process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(server.process.pid, signal.SIGCONT)


def seen_at(site, address):
    """The same people and project at another server."""
    other = copy.copy(site)
    other.admin = client(address)
    other.people = [client(address, person.headers["Authorization"].removeprefix("Bearer ")) for person in site.people]
    return other


@pytest.mark.parametrize("end", scaled(["kill"], ["kill", "stop"]))
def test_two_servers_take_turns(serve, postgresql_url, end):
    """One is held up and loses the database; another serves until it ends; then the first serves again."""
    first, books = serve(postgresql_url, data_dir="first"), Books()
    with Site(first.address, 50, 4) as site:
        with Crowd(site, books, seed=1, pause=0.02, bad=0.0):
            eventually(lambda: len(books.answers) > 20)
            with stopped(first):  # some wait for an answer that does not come, and may find the line dead later
                cut(postgresql_url)
                second = serve(postgresql_url, data_dir="second")
                with seen_at(site, second.address) as there:
                    change(there, books)
                time.sleep(scaled(0.5, 20.0))
            time.sleep(0.5)
        assert set(books.refused.values()) <= {503}
        with seen_at(site, first.address) as here:
            unlucky = here.post(here.people[0], "too early", site.keys[0], "red")
            assert unlucky.status_code == 503
            assert int(unlucky.headers["Retry-After"]) > 0
            health = here.admin.get("/health/ready")
            assert (health.status_code, health.json()["status"]) == (503, "another server may own the database")
        with seen_at(site, second.address) as there:
            assert books.post(there, 0, "beside", site.keys[1], "red").status_code == 201
            there.wait_until_quiet()
            assert is_ready(there)
        getattr(second, end)()
        eventually(lambda: is_ready(site), seconds=PROMPTLY)
        repeat_all(site, books)
        site.keys.append("new")
        assert_rebuilt_by_a_start(first, site)


def change(site, books):
    """What a server does that owns the database: labels, an item, a class, a training."""
    for n, key in enumerate(site.keys[:12]):
        assert books.post(site, n % 4, f"there-{n}", key, site.label_of(key)).status_code == 201
    done(site.admin.post(f"{site.path}/items", json={"items": [{"key": "new", "features": [0.125] * 8}]}))
    done(site.admin.post(f"{site.path}/classes", json={"name": "black"}))
    done(site.admin.post(f"{site.path}/train", json={}))
    site.wait_until_quiet()


def assert_rebuilt_by_a_start(server, site):
    """The model in memory is the one that a start without snapshots builds from the database."""
    site.wait_until_quiet()
    state, predictions = done(site.admin.get(f"{site.path}/model")), site.predictions()
    server.kill()
    shutil.rmtree(server.data_dir / "snapshots", ignore_errors=True)
    server.start()
    again = done(site.admin.get(f"{site.path}/model"))
    assert [again[name] for name in ("version", "items", "labelled", "classes")] == [
        state[name] for name in ("version", "items", "labelled", "classes")
    ]
    assert np.allclose(site.predictions(), predictions, atol=1e-8)
