"""Projects with a forest behind them, and with the choice left to the service."""

import numpy as np
import pytest

from core.queries import STRATEGIES

RNG = np.random.default_rng(0)
X = RNG.random((160, 2))
NAMES = np.where((X[:, 0] > 0.5) == (X[:, 1] > 0.5), "a", "b")  # no column tells them apart
KEYS = [f"k{i}" for i in range(len(X))]
FOREST = {"model": "forest", "leaf_size": 20, "n_trees": 4, "kernel": "rbf"}


def labels(first, last):
    return {f"k{i}": str(NAMES[i]) for i in range(first, last)}


def train(project):
    found = project.wait(project.post("/train", {"tune": True}, 202)["job"])
    assert found["state"] == "done"
    return found["result"]


@pytest.fixture(scope="module")
def wood(site):
    project = site.project(**FOREST)
    project.add(X)
    project.label(labels(0, 15))
    assert project.get("/model")["model"] == "forest: one leaf until it is trained on more than 20 labels"
    project.label(labels(15, 80))
    train(project)
    return project


def test_what_is_told_of_it(wood):
    model = wood.get("/model")
    assert (model["model"], model["solver"], model["degraded"]) == ("forest", "forest", None)
    assert wood.get("/card")["model"] == {
        "name": "forest",
        "why": "it is chosen in the settings of the project",
    }
    why = wood.get("/why/k100")
    assert (why["label"], why["parts"]) == (wood.post("/predict", {"keys": ["k100"]})["predictions"][0]["label"], [])
    assert wood.get("/insights")["classes"]["a"]["labelled"]
    assert wood.get("/map")["points"]


def test_labels_questions_and_predictions_agree(wood):
    by_key = wood.post("/predict", {"keys": KEYS})["predictions"]
    by_row = wood.post("/predict", {"features": X.tolist()})["predictions"]
    for a, b in zip(by_key, by_row, strict=True):
        assert (a["label"], a["probabilities"]) == (b["label"], pytest.approx(b["probabilities"], abs=1e-8))
        assert a["label"] == max(a["probabilities"], key=a["probabilities"].get)
        assert a["variance"] == pytest.approx(b["variance"], abs=1e-8)
    assert np.mean([p["label"] == name for p, name in zip(by_key, NAMES, strict=True)]) > 0.9
    answer = wood.label({"k90": str(NAMES[90])}, next={"count": 3})
    assert answer["model_version"] == wood.get("/model")["version"]
    for item in answer["items"]:
        told = wood.post("/predict", {"keys": [item["key"]]})["predictions"][0]
        assert item["mean"] == pytest.approx(told["mean"], abs=1e-9)
        wood.delete(f"/leases/{item['lease']['id']}", 204)
    wood.delete("/labels/k90")
    again = wood.post("/predict", {"keys": KEYS})["predictions"]
    assert [p["variance"] for p in again] == pytest.approx([p["variance"] for p in by_key], abs=1e-8)


def test_every_strategy_asks(wood):
    for strategy in (name for name, one in STRATEGIES.items() if not one.wanted):
        asked = wood.post("/query", {"count": 2, "strategy": strategy})["items"]
        assert len({item["key"] for item in asked} - set(labels(0, 80))) == 2
        for item in asked:
            wood.delete(f"/leases/{item['lease']['id']}", 204)


def test_auto_compares_and_says_why(site):
    project = site.project(model="auto", leaf_size=20)
    project.add(X)
    project.label(labels(0, 30))
    assert "model_choice" not in train(project)
    assert project.get("/model")["model"] == "gp: it is compared with a forest from 40 labels on"
    project.label(labels(30, 120))
    told = train(project)["model_choice"]
    assert told.startswith("forest: squared error of held-out labels 0.")
    assert project.get("/model")["model"] == told
    assert "model_choice" not in train(project)  # labels have not doubled
    assert project.get("/model")["model"] == "forest"
    assert project.get("/card")["model"] == {"name": "forest", "why": told}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"likelihood": "softmax"}, "likelihood"),
        ({"balance": True}, "balance"),
        ({"tune": "evidence"}, "tune"),
    ],
)
def test_settings_that_do_not_go_together(wood, settings, message):
    refused = wood.call("PATCH", "", 422, json={"settings": settings})
    assert message in str(refused)
    body = {"name": "p", "classes": ["a"], "settings": FOREST | settings}
    assert message in str(wood.__class__(wood.http, wood.service).post("/v1/projects", body, 422))
