"""With an address and a token: syncs, pushes, pictures; and what holds when one side is away or busy."""

import socket
import threading

import pytest

from app.label_studio.protocol import AnnotationSent
from app.label_studio.remote import Remote, RemoteError
from app.services.runtime.writer import Task
from tests.app.conftest import site_on
from tests.app.encoders.pictures import digit_files
from tests.app.label_studio import wire
from tests.app.label_studio.conftest import Backend
from tests.app.label_studio.stand_in import TOKEN


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """SQLite alone: what the database does is tried elsewhere."""
    with site_on("sqlite", tmp_path_factory.mktemp("site"), None) as site:
        yield site


@pytest.fixture
def pushing(site, remote):
    """24 items with features, 24 tasks there, one of them annotated, and a link with a token."""
    one = Backend(site, encoder="none", classes=("Positive", "Negative"))
    items = [{"key": f"k{i}", "features": [1.0 - i % 2 + i / 100, i % 2 + 0.1]} for i in range(24)]
    one.project.post("/items", {"items": items}, 201)
    remote.tasks = one.tasks = [wire.task(i + 1, text="text", key=f"k{i}") for i in range(24)]
    remote.annotate(one.tasks[0], wire.annotation(1, one.tasks[0], ["Positive"]))
    link = {"address": remote.address, "token": TOKEN, "remote_project": 12, "top": 5}
    one.path = one.project.post("/label-studio", link, 201)["path"]
    one.up_to_date()
    return one


def test_a_link_brings_everything_and_puts_the_next_tasks_in_order(pushing, remote):
    assert pushing.votes("k0") == {"ann@example.com": "Positive"}
    link = pushing.shown()
    assert (link["tasks"], link["annotations"], link["problem"]) == (24, 1, None)
    assert TOKEN not in str(link)
    assert len(remote.queue()) == 5
    assert 1 not in remote.queue()


def test_after_each_label_the_next_task_is_the_one_that_the_model_wants(pushing, remote):
    for number in range(2, 8):
        task = pushing.tasks[remote.queue()[0] - 1]
        label = "Positive" if task["id"] % 2 else "Negative"
        said = wire.annotation(number, task, [label], second=number)
        remote.annotate(task, said)
        pushing.event("ANNOTATION_CREATED", annotation=said, task=task)
        version = pushing.up_to_date()["pushed_version"]
        assert remote.versions[-1] == version
        assert task["id"] not in remote.queue()
        assert pushing.tasks[remote.queue()[0] - 1]["data"]["key"] == pushing.wanted()
    scores = [one["score"] for one in remote.predictions[version]]
    assert scores == sorted(scores)
    assert {one["result"][0]["type"] for one in remote.predictions[version]} == {"choices"}


def test_skipped_tasks_come_when_there_are_no_others(pushing, remote):
    first = remote.queue()[0]
    for number, task in enumerate(pushing.tasks[1:21]):
        pushing.annotate(task, 100 + number, ["Positive"], was_cancelled=True)
    pushing.up_to_date()
    assert sorted(remote.queue()[:3]) == [22, 23, 24]
    assert len(remote.queue()) == 5
    assert first != 1


def test_what_happened_while_one_was_away_comes_with_a_sync(pushing, remote):
    remote.annotate(pushing.tasks[1], wire.annotation(2, pushing.tasks[1], ["Negative"]))
    del remote.said[1]
    remote.tasks = [*remote.tasks[:20], wire.task(99, text="new", key="k23")]
    job = pushing.project.post("/label-studio/sync", None, 202)["job"]
    result = pushing.project.wait(job)["result"]
    assert (result["tasks"], result["annotations"]) == (21, 2)
    assert pushing.votes("k0") == {}
    assert pushing.votes("k1") == {"ann@example.com": "Negative"}
    again = pushing.project.wait(pushing.project.post("/label-studio/sync", None, 202)["job"])
    assert again["state"] == "done"
    assert pushing.kinds("k1") == ["label"]


def test_label_studio_away_and_back(pushing, remote):
    remote.away = True
    pushing.annotate(pushing.tasks[2], 5, ["Positive"])
    assert "502" in pushing.until(lambda link: link["problem"])["problem"]
    assert pushing.votes("k2") == {"ann@example.com": "Positive"}
    failed = pushing.project.wait(pushing.project.post("/label-studio/sync", None, 202)["job"])
    assert (failed["state"], "502" in failed["message"]) == ("failed", True)
    remote.annotate(pushing.tasks[2], wire.annotation(5, pushing.tasks[2], ["Positive"]))
    remote.annotate(pushing.tasks[3], wire.annotation(6, pushing.tasks[3], ["Negative"]))
    remote.away = False
    pushing.call("POST", "webhook", wire.event("PROJECT_UPDATED", pushing.schema), 201)
    pushing.until(lambda link: link["problem"] is None and link["annotations"] == 3)
    pushing.up_to_date()
    assert pushing.votes("k3") == {"ann@example.com": "Negative"}


def test_old_predictions_are_removed(pushing, remote):
    pushing.annotate(pushing.tasks[1], 2, ["Negative"])
    pushing.up_to_date()
    pushing.until(lambda link: list(remote.predictions) == [link["pushed_version"]])
    assert len(remote.predictions) == 1


def test_training_there_is_a_sync_here(pushing, remote):
    remote.annotate(pushing.tasks[1], wire.annotation(2, pushing.tasks[1], ["Negative"]))
    job = pushing.event("START_TRAINING")["job"]
    assert pushing.project.wait(job)["result"]["annotations"] == 2


class Busy(Task):
    """Keeps the writer until it is let go."""

    def __init__(self):
        self.begun, self.over = threading.Event(), threading.Event()

    def respond(self):
        self.begun.set()
        assert self.over.wait(60)


def test_a_webhook_is_answered_while_the_model_is_busy(pushing, site):
    busy, running = Busy(), site.service.in_memory(pushing.project.path.rsplit("/", 1)[1])
    running.writer.submit(busy)
    assert busy.begun.wait(60)
    try:
        said = wire.annotation(7, pushing.tasks[5], ["Negative"])
        body = wire.event("ANNOTATION_CREATED", pushing.schema, annotation=said, task=pushing.tasks[5])
        assert pushing.call("POST", "webhook", body, 201)["status"] == "kept"
        assert pushing.shown()["waiting_annotations"] == 1
        assert not busy.over.is_set()
    finally:
        busy.over.set()
    pushing.settled()
    assert pushing.votes("k5") == {"ann@example.com": "Negative"}


def test_a_restart_goes_on_where_it_was(tmp_path, remote):
    remote.tasks = [wire.task(i + 1, text="text", key=f"k{i}") for i in range(4)]
    with site_on("sqlite", tmp_path, None) as site:
        one = Backend(site, encoder="none", classes=("Positive", "Negative"))
        one.project.add([[1.0, 0.1], [0.1, 1.0], [0.9, 0.2], [0.3, 0.8]])
        link = {"address": remote.address, "token": TOKEN, "remote_project": 12}
        one.path = one.project.post("/label-studio", link, 201)["path"]
        one.up_to_date()
    remote.annotate(remote.tasks[0], wire.annotation(1, remote.tasks[0], ["Positive"]))
    with site_on("sqlite", tmp_path, None) as site:
        one.site = one.project.service = site
        one.project.http = site.http
        assert one.call("GET", "health")["status"] == "UP"
        one.until(lambda link: link["annotations"] == 1)
        one.up_to_date()
        assert one.votes("k0") == {"ann@example.com": "Positive"}


def test_pictures_are_fetched_with_the_token_from_there_and_nowhere_else(site, remote, tmp_path):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        elsewhere = f"http://127.0.0.1:{listener.getsockname()[1]}/a.png"
        remote.schema = wire.config(wire.IMAGE)
        good = [f"/data/upload/16/{i}.png" for i in range(6)]
        for path, file in zip(good, digit_files(tmp_path, 6)[0], strict=True):
            remote.files[path] = file.read_bytes()
        remote.files |= {"/data/upload/16/moved.png": elsewhere, "/data/upload/16/text.png": b"no picture"}
        bad = [
            elsewhere,
            "/data/upload/16/moved.png",
            "/data/upload/16/text.png",
            "/api/users/",
            "//evil.example/a.png",
        ]
        bad += ["/data/../api/users/", "file:///etc/passwd", "http://[", "/data/upload/16/none.png"]
        places = [*good, remote.address + good[0], *bad]
        remote.tasks = [wire.task(i + 1, image=place) for i, place in enumerate(places)]
        one = Backend(site, encoder="image", encoder_options={"size": 64, "words": 8, "colours": 4})
        link = {"address": remote.address, "token": TOKEN, "remote_project": 12}
        one.path = one.project.post("/label-studio", link, 201)["path"]
        link = one.until(lambda link: link["tasks"] and not link["waiting_tasks"])
        listener.settimeout(0.2)
        with pytest.raises(TimeoutError):
            listener.accept()
    assert link["broken_tasks"] == len(bad)
    reasons = {entry["task"]: entry["reason"] for entry in link["broken"]}
    assert "own address only" in reasons[8]
    assert "302" in reasons[9]
    assert "not a JPEG" in reasons[10]
    assert "404" in reasons[len(places)]
    item = one.project.get("/items/task-1")
    assert item["data"]["image"].startswith("/v1/projects/")
    assert item["data"]["file"] == "0.png"
    assert not [path for _, path in remote.calls if ".." in path]


def test_a_token_that_is_not_taken(site, remote):
    one = Backend(site)
    link = {"address": remote.address, "token": "wrong", "remote_project": 12}
    one.project.post("/label-studio", link, 201)
    assert "401" in one.until(lambda link: link["problem"])["problem"]
    remote_one = Remote(remote.address, "a.b.c")
    with pytest.raises(RemoteError, match="personal access token"):
        remote_one.users()
    remote_one.close()


def test_times_without_a_zone_or_a_person():
    said = AnnotationSent.model_validate({"id": 1, "updated_at": None, "created_at": None, "completed_by": None})
    assert (said.user, said.changed_at) == (0, 0.0)
