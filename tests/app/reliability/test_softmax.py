"""A model of the softmax likelihood comes back as it was: from a snapshot, and from the log alone."""

import httpx
import pytest

from tests.app import test_likelihood as open_likelihood
from tests.app.site import Site
from tests.app.test_forest import train
from tests.app.test_trees import FIRST, TREE, X

KEYS = [f"k{i}" for i in range(len(X))]


def predictions(server, path):
    with httpx.Client(base_url=server.address, timeout=60) as http:
        project = Site(http, None, path=path)
        assert project.get("/model")["degraded"] is None
        assert project.get("")["parents"] == {"robin": "bird", "tit": "bird", "owl": "bird"}
        return project.post("/predict", {"keys": KEYS})["predictions"]


def test_the_same_model_after_a_kill(serve, sqlite_url):
    server = serve(sqlite_url, {"ASKNEXT_SNAPSHOT_SECONDS": "3600"})
    with httpx.Client(base_url=server.address, timeout=60) as http:
        project = Site(http, None).project(TREE, likelihood="softmax")
        project.add(X)
        for key, label in FIRST.items():
            project.label({key: label})
        assert project.wait(project.post("/train", {"tune": True}, 202)["job"])["state"] == "done"
        project.label({"k4": "robin", "k16": "bird"})
        project.post("/classes", {"name": "owl", "parent": "bird"}, 201)
        project.delete("/labels/k1")
    before = predictions(server, project.path)
    for end in (server.kill, server.stop):  # a stop leaves a snapshot
        end()
        server.start()
        for a, b in zip(predictions(server, project.path), before, strict=True):
            assert a["label"] == b["label"]
            assert a["probabilities"] == pytest.approx(b["probabilities"], abs=1e-5)
            assert a["variance"] == pytest.approx(b["variance"], rel=1e-6)


def test_a_likelihood_that_was_chosen_comes_back(serve, sqlite_url):
    server = serve(sqlite_url, {"ASKNEXT_SNAPSHOT_SECONDS": "3600"})
    keys = [f"k{i}" for i in range(len(open_likelihood.X))]
    with httpx.Client(base_url=server.address, timeout=60) as http:
        project = Site(http, None).project(sorted(set(open_likelihood.LABELS)), kernel="linear")
        project.add(open_likelihood.X)
        project.label(open_likelihood.labels(0, 160))
        assert train(project)["likelihood_choice"].startswith("softmax")
        project.label(open_likelihood.labels(160, 163))
        before = project.post("/predict", {"keys": keys})["predictions"]
    for end in (server.kill, server.stop):  # a stop leaves a snapshot
        end()
        server.start()
        with httpx.Client(base_url=server.address, timeout=60) as http:
            again = Site(http, None, path=project.path)
            assert again.get("/model")["likelihood"] == "softmax"
            for a, b in zip(again.post("/predict", {"keys": keys})["predictions"], before, strict=True):
                assert a["probabilities"] == pytest.approx(b["probabilities"], abs=1e-5)
