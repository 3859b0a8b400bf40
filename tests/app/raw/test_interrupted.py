"""Imports that do not come to their end, and services that come back."""

from contextlib import ExitStack

import httpx
import pytest

from app.services import encoding_process, raw_tables
from tests.app.live import Process
from tests.app.raw.files import as_csv, imported, texts
from tests.app.site import Site


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
    monkeypatch.setattr(raw_tables, "PORTION", 2)
    project = site.project(encoder="text")
    job = project.call("POST", "/import", 202, content=as_csv(texts(2000)))["job"]
    while not project.get("/items?limit=1")["items"]:
        pass
    project.delete(f"/jobs/{job}")
    assert project.wait(job)["state"] == "cancelled"
    assert 0 < len(project.get("/items?limit=1000")["items"]) < 1000
    assert list(site.service.uploads.iterdir()) == []


def test_an_item_that_ends_the_process_is_broken(monkeypatch):
    """A process that is killed for one text of many: the others are encoded."""
    rows = [text for _, text in texts(9)]

    with encoding_process.EncodingProcess("text") as process:
        process.fit(rows, {}, lambda _: None)
        call = process._call

        def deadly(name, args, on_step):
            if name == "encode" and rows[4] in args[0]:
                process._process.kill()
            return call(name, args, on_step)

        monkeypatch.setattr(process, "_call", deadly)
        encoded = process.encode(rows, lambda _: None)
    assert encoded.good == [0, 1, 2, 3, 5, 6, 7, 8]
    assert encoded.broken == {4: "reading it ended the process that did"}
    assert encoded.table.shape[0] == 8
