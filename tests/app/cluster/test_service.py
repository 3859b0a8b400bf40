"""The service with ASKNEXT_DASK: the same answers over HTTP, and no label lost whoever is killed."""

from contextlib import contextmanager

import httpx
import numpy as np
import pytest

from tests.app.cluster.conftest import PART_ROWS
from tests.app.live import in_thread
from tests.app.site import Site
from tests.core.data import word_counts

M = 2 * PART_ROWS + 100
X, Y = word_counts(M + 20, 8, 2, words=12)
SOME = [f"k{i}" for i in range(0, M, 200)]


@contextmanager
def served(folder, address=None):
    with in_thread(None, folder, dask=address) as (url, service), httpx.Client(base_url=url, timeout=120) as http:
        if service.cluster is not None:
            service.cluster.part_rows = PART_ROWS
        yield Site(http, service)


def begun(site):
    """A project with items, labels and a training."""
    project = site.project()
    for first in range(0, M, 1000):
        project.add(X[first : min(M, first + 1000)], first)
    project.label({f"k{i}": "ab"[Y[i]] for i in range(0, 60, 5)})
    return project


def trained(project, meanwhile=lambda: None):
    job = project.post("/train", {"tune": True}, 202)["job"]
    meanwhile()
    done = project.wait(job)
    assert done["state"] == "done", done
    return done["result"]


def told(items):
    """What is the same in two runs."""
    return [{name: item[name] for name in ("key", "score", "strategy", "mean", "variance")} for item in items]


def labelled(project, meanwhile=lambda: None):
    """Answers on the way, from a training on; `meanwhile` something happens."""
    seen = [trained(project, meanwhile)]
    for i in (61, 999, 2000):
        answer = project.label({f"k{i}": "ab"[Y[i]]}, next={"count": 2, "strategy": "unc+"})
        seen += [answer["accepted"], told(answer["items"])]
    meanwhile()
    project.label({"k61": "ab"[1 - Y[61]]})
    project.delete("/labels/k999")
    project.add(X[M:], M)
    seen.append(project.post("/predict", {"keys": [*SOME, f"k{M + 3}"]})["predictions"])
    seen.append(project.post("/predict", {"features": X[:3].tolist()})["predictions"])
    model = project.get("/model")
    return [*seen, {name: model[name] for name in ("hyperparameters", "accuracy", "estimates") if name in model}]


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    with served(tmp_path_factory.mktemp("alone")) as site:
        return labelled(begun(site))


@pytest.fixture
def folder(tmp_path, data_dir):
    """A data folder that the workers have, too."""
    data_dir.unlink(missing_ok=True)
    data_dir.symlink_to(tmp_path)
    return tmp_path


def test_a_worker_is_killed_in_training_and_another_before_a_label(folder, dask_cluster, alone, kill_a_worker):
    with served(folder, dask_cluster.scheduler_address) as site:
        project = begun(site)
        assert labelled(project, kill_a_worker) == alone
        exported = project.get("/labels?format=csv").text.splitlines()
        assert len(exported) == 1 + 12 + 2  # no label is lost
        assert not project.get("/model")["degraded"]


def test_nobody_answers_and_labels_are_taken_all_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr("app.cluster.cluster.CONNECT_SECONDS", 0.2)
    with served(tmp_path, "tcp://127.0.0.1:9") as site:
        project = site.project()
        project.add(X[:50])
        project.label({"k0": "a", "k1": "b"})
        done = project.wait(project.post("/train", {"tune": True}, 202)["job"])
        assert done["state"] == "failed"
        assert "no Dask scheduler answers at tcp://127.0.0.1:9" in done["message"]
        assert project.label({"k2": "a"}, next={"count": 1})["items"]
        path = project.path
    with served(tmp_path, "tcp://127.0.0.1:9") as site:  # the model is to be built on the cluster
        project = Site(site.http, site.service, site.key, path)
        answer = project.label({"k3": "b"}, next={"count": 1})
        assert answer["accepted"] == len(answer["items"]) == 1
        assert project.get("/model")["degraded"]


def test_the_same_answers_and_a_restart(folder, client, dask_cluster, alone):
    with served(folder, dask_cluster.scheduler_address) as site:
        project = begun(site)
        assert labelled(project) == alone
        assert not site.service.running(project.path.split("/")[-1]).project.learner.is_here
        before, path = project.means(SOME), project.path
    with served(folder, dask_cluster.scheduler_address) as site:
        project = Site(site.http, site.service, site.key, path)
        assert not project.get("/model")["degraded"]
        assert np.allclose(project.means(SOME), before, atol=1e-9)
