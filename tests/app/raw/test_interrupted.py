"""Imports that do not come to their end, and services that come back."""

import threading
import time
from contextlib import ExitStack

import httpx
import pytest

from app.services.encoding.process import EncodingProcess
from app.services.imports import tables
from app.services.model import training
from tests.app.live import Process, eventually
from tests.app.raw.files import as_csv, as_zip, imported, texts
from tests.app.site import Site

PATIENCE = 10.0  # seconds on a busy machine


@pytest.fixture
def server(database_url, tmp_path):
    server = Process(database_url, tmp_path)
    yield server
    if server.process.poll() is None:
        server.stop()


@pytest.fixture
def site_of(server):
    """The server as it is now, at a path."""
    with ExitStack() as stack:

        def connect(path=""):
            http = stack.enter_context(httpx.Client(base_url=server.address, timeout=60))
            return Site(http, None, path=path)

        yield connect


@pytest.mark.jit
def test_a_killed_import_can_be_repeated(server, site_of):
    """It dies after the first portion of items; the repeat brings the rest, with the encoder that was kept."""
    server.environment["ASKNEXT_FAILPOINT"] = "after-commit:3"  # the encoder, 500 items, 500 items
    server.start()
    rows = texts(1200)
    project = site_of().project(["sport", "food"], kernel=None, encoder="auto")
    project.call("POST", "/import", 202, content=as_csv(rows))
    server.wait()
    server.environment.clear()
    server.start()
    project = site_of(project.path)
    encoder = project.get("")["encoder"]
    assert encoder["kind"] == "text"
    result = imported(project, as_csv(rows))
    assert (result["added"], result["unchanged"], result["broken_count"]) == (200, 1000, 0)
    whole = site_of().project(["sport", "food"], kernel=None, encoder="auto")
    assert imported(whole, as_csv(rows))["added"] == 1200
    assert whole.get("")["encoder"] == encoder
    labels = {f"t{i}": label for i, (label, _) in enumerate(rows[:8])}
    for one in (project, whole):
        one.label(labels)
    keys = [f"t{i}" for i in range(0, 1200, 50)]
    assert project.means(keys) == pytest.approx(whole.means(keys), abs=1e-9)


@pytest.mark.jit
def test_a_model_with_channels_comes_back_the_same(server, site_of):
    server.environment["ASKNEXT_SNAPSHOT_SECONDS"] = "1e9"
    server.start()
    rows = texts(40)
    project = site_of().project(["sport", "food"], kernel=None, encoder="text")
    imported(project, as_csv(rows), labels="true")
    project.wait(project.post("/train", {"tune": True}, 202)["job"])
    ask = {"texts": ["the team has the ball", "salt and soup"]}
    before, model = project.post("/predict", ask), project.get("/model")
    server.kill()
    server.start()
    project = site_of(project.path)
    again = project.post("/predict", ask)
    assert again["model_version"] == before["model_version"]
    assert project.get("/model")["hyperparameters"] == pytest.approx(model["hyperparameters"])
    for one, other in zip(again["predictions"], before["predictions"], strict=True):
        assert one["mean"] == pytest.approx(other["mean"], abs=1e-8)
    assert project.post("/items", {"items": [{"key": "new", "text": "ball"}]}, 201)["added"] == 1


def test_a_cancelled_import_ends_between_portions(site, monkeypatch):
    monkeypatch.setattr(tables, "PORTION", 2)
    project = site.project(encoder="text")
    job = project.call("POST", "/import", 202, content=as_csv(texts(2000)))["job"]
    eventually(lambda: project.get("/items?limit=1")["items"])
    project.delete(f"/jobs/{job}")
    assert project.wait(job)["state"] == "cancelled"
    assert 0 < len(project.get("/items?limit=1000")["items"]) < 1000
    assert list(site.service.uploads.iterdir()) == []


def long_lines():
    """One portion of them takes seconds."""
    row = b",1.25" * 60_000
    return (
        b"key"
        + b"".join(b",c%d" % i for i in range(60_000))
        + b"\n"
        + b"".join(b"k%d%s\n" % (i, row) for i in range(40))
    )


def blank_lines():
    return b"\n" * 2**25


def busy_texts():
    """Every one of them takes the encoder a while."""
    return as_zip({f"{i}.txt": b"%d " % i + b"some words " * 40_000 for i in range(60)}, compresslevel=0)


@pytest.mark.parametrize(
    ("content", "encoder"),
    [(long_lines, "none"), (long_lines, "auto"), (blank_lines, "auto"), (busy_texts, "auto")],
    ids=["parsing", "guessing", "looking", "encoding"],
)
def test_an_import_is_cancelled_wherever_it_is(site, content, encoder):
    """Within a second where the machine has nothing else to do."""
    project = site.project(kernel=None, encoder=encoder)
    job = project.call("POST", "/import", 202, content=content())["job"]
    eventually(lambda: project.get(f"/jobs/{job}"), lambda found: found["state"] == "running")
    time.sleep(0.7)
    begun = time.monotonic()
    project.delete(f"/jobs/{job}")
    assert project.wait(job)["state"] == "cancelled"
    assert time.monotonic() - begun < PATIENCE
    assert list(site.service.uploads.iterdir()) == []


def test_a_training_that_is_cancelled_is_not_waited_for(site, monkeypatch):
    """A factorisation cannot be cut short: the job ends, and the next training begins when it has come to its end."""
    begun, hold, build = threading.Event(), threading.Event(), training.OnlineLearner.build

    def long_build(*args, **options):
        begun.set()
        assert hold.wait(60)
        return build(*args, **options)

    monkeypatch.setattr(training.OnlineLearner, "build", long_build)
    project = site.project(["a", "b"])
    try:
        job = project.call("POST", "/import?labels=true", 202, content=b"key,x,label\nk,1,a\nl,2,b\n")["job"]
        assert begun.wait(60)
        project.delete(f"/jobs/{job}")
        assert project.wait(job)["state"] == "cancelled"
        after = project.post("/train", {}, 202)["job"]
        eventually(lambda: project.get(f"/jobs/{after}")["message"] == "waiting for another training to end")
    finally:
        hold.set()
    assert project.wait(after)["result"]["labels"] == 2
    assert project.get("/model")["labelled"] == 2


def test_a_job_that_waits_for_a_thread_is_cancelled_at_once(site):
    """Others go on; what it holds is let go when its turn comes."""
    hold, jobs = threading.Event(), site.service.jobs
    projects = [site.project() for _ in range(3)]
    ids = [project.path.rsplit("/", 1)[1] for project in projects]
    busy = [jobs.start(ids[i], "train", lambda _: {"waited": hold.wait(60)}) for i in range(2)]
    job = projects[2].call("POST", "/import", 202, content=b"key,x\nk,1\n")["job"]
    assert projects[2].delete(f"/jobs/{job}")["state"] == "cancelled"
    hold.set()
    assert [project.wait(one)["state"] for project, one in zip(projects, busy, strict=False)] == ["done", "done"]
    eventually(lambda: list(site.service.uploads.iterdir()), lambda left: not left)
    assert projects[2].get("/items")["items"] == []


def test_an_item_that_ends_the_process_is_broken(monkeypatch):
    """A process that is killed for one text of many: the others are encoded."""
    rows = [text for _, text in texts(9)]

    with EncodingProcess("text") as process:
        process.fit(rows, {}, lambda _: None)
        call = process._call

        def deadly(name, args, on_step):
            if name == "encode" and rows[4] in args[0]:
                process._process.kill()
            return call(name, args, on_step)

        monkeypatch.setattr(process, "_call", deadly)
        encoded = process.encode(rows, lambda _: None)
    assert encoded.good == [0, 1, 2, 3, 5, 6, 7, 8]
    assert encoded.broken == {4: "damaged: it cannot be read"}
    assert encoded.table.shape[0] == 8
