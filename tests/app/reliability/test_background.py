"""What goes on behind the requests does not end with the first error, nor does it hold requests up."""

import shutil
import time

import pytest

from tests.app.live import eventually, in_thread
from tests.app.reliability.people import Books, Site, done


def label(site, books, numbers):
    for n in numbers:
        books.post(site, 0, f"post-{n}", site.keys[n], site.label_of(site.keys[n]))


def test_trainings_go_on_after_one_could_not_be_begun(sqlite_url, tmp_path):
    """A training is due while jobs cannot be written; the next one that is due takes place."""
    books = Books()
    with in_thread(sqlite_url, tmp_path / "data") as (address, service), Site(address, 60, 1) as site:
        refuse = "CREATE TRIGGER refuse BEFORE INSERT ON jobs BEGIN SELECT RAISE(ABORT, 'no') ; END"
        with service.database.write() as connection:
            connection.exec_driver_sql(refuse)
        label(site, books, range(20))
        time.sleep(0.5)
        with service.database.write() as connection:
            connection.exec_driver_sql("DROP TRIGGER refuse")
        label(site, books, range(20, 40))
        eventually(lambda: done(site.admin.get(f"{site.path}/jobs"))["jobs"], seconds=20.0)
        assert len(books.check(site)) == 40


def test_a_stop_without_room_for_snapshots(sqlite_url, tmp_path):
    """Snapshots only make the next start fast: all else is put in order."""
    books = Books()
    with in_thread(sqlite_url, tmp_path / "data") as (address, service), Site(address, 60, 1, retrain="off") as site:
        label(site, books, range(5))
        books.check(site)
        shutil.rmtree(tmp_path / "data" / "snapshots", ignore_errors=True)  # a slow machine may have left one
        (tmp_path / "data" / "snapshots").write_text("no folder")
    assert not service.database.still_owned()


@pytest.mark.parametrize("method", ["publish", "label", "query"])
def test_a_broken_model_holds_nobody_up(sqlite_url, tmp_path, monkeypatch, method):
    """Labels are accepted, and questions drawn at random, until a training has built the model again."""
    books = Books()
    with in_thread(sqlite_url, tmp_path / "data") as (address, service), Site(address, 60, 1) as site:
        label(site, books, range(5))

        def fail(*_, **__):
            raise FloatingPointError("broken on purpose")

        monkeypatch.setattr(service.running(site.project).project.learner, method, fail)
        site.people[0].timeout = 30.0
        answer = books.post(site, 0, "broken", site.keys[5], "red", next={"count": 1})
        assert answer.status_code == 201
        assert len(answer.json()["items"]) == 1
        label(site, books, range(6, 12))
        eventually(lambda: done(site.admin.get(f"{site.path}/model"))["degraded"] is None, seconds=20.0)
        assert done(site.admin.get(f"{site.path}/model"))["labelled"] == 12
        assert len(books.check(site)) == 12
