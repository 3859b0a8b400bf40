"""A forest comes back as it was, from a snapshot and from the log alone: trees are part of a training."""

import httpx
import numpy as np

from tests.app.site import Site
from tests.app.test_forest import FOREST, KEYS, X, labels, train


def told(server, path):
    """All predictions, and what is asked next."""
    with httpx.Client(base_url=server.address, timeout=60) as http:
        project = Site(http, None, path=path)
        assert project.get("/model")["degraded"] is None
        asked = project.post("/query", {"count": 8, "strategy": "emoc", "seed": 1})["items"]
        for item in asked:
            project.delete(f"/leases/{item['lease']['id']}", 204)
        found = project.post("/predict", {"keys": KEYS})["predictions"]
    numbers = [[*p["probabilities"].values(), *p["mean"].values(), p["variance"]] for p in found]
    return np.array(numbers), [item["key"] for item in asked]


def test_the_same_forest_after_a_kill(serve, sqlite_url):
    server = serve(sqlite_url, {"ASKNEXT_SNAPSHOT_SECONDS": "3600"})
    with httpx.Client(base_url=server.address, timeout=60) as http:
        project = Site(http, None).project(**FOREST | {"model": "auto", "kernel": "hik"})
        project.add(X[:150])
        project.label(labels(0, 90))
        train(project)
        project.add(X[150:], first=150)
        for key, label in labels(90, 110).items():  # after the training, one by one: a restart learns all at once
            project.label({key: label})
        project.label({"k3": "b", "k4": "b"})
        project.delete("/labels/k91")
        project.post("/classes", {"name": "c"}, 201)
        project.label({"k155": "c"})
        assert project.get("/model")["model"].split(":")[0] == "forest"
    before, asked = told(server, project.path)
    for end in (server.kill, server.stop):  # a stop leaves a snapshot
        end()
        server.start()
        now, again = told(server, project.path)
        assert np.allclose(now, before, rtol=0.0, atol=1e-8)
        assert again == asked
