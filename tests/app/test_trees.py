"""Projects with the softmax likelihood, and with a tree of classes."""

import csv
import io

import numpy as np
import pytest

TREE = ["bird", {"name": "robin", "parent": "bird"}, {"name": "tit", "parent": "bird"}, "bat"]
RNG = np.random.default_rng(0)
X = np.vstack([RNG.dirichlet(weights, 12) for weights in ([8, 1, 1, 1], [1, 8, 1, 1], [1, 1, 8, 8])])
NAMES = np.repeat(["robin", "tit", "bat"], 12)
FIRST = {f"k{i}": str(NAMES[i]) for i in (0, 1, 12, 13, 24, 25)} | {"k2": "bird", "k14": "bird"}


@pytest.fixture(scope="module")
def birds(site):
    project = site.project(TREE, likelihood="softmax")
    project.add(X)
    project.label(FIRST)
    return project


def test_probabilities_of_classes_and_nodes(birds):
    keys = [f"k{i}" for i in range(36)]
    found = birds.post("/predict", {"keys": keys})["predictions"]
    for prediction in found:
        p = prediction["probabilities"]
        assert list(p) == ["robin", "tit", "bat"]
        assert sum(p.values()) == pytest.approx(1.0)
        assert prediction["nodes"] == {"bird": pytest.approx(p["robin"] + p["tit"])}
        assert prediction["decision"] in p
    right = [prediction["label"] == name for prediction, name in zip(found, NAMES, strict=True)]
    assert np.mean(right) > 0.9
    rows = birds.post("/predict", {"features": X.tolist()})["predictions"]
    for a, b in zip(rows, found, strict=True):
        assert a["label"] == b["label"]
        assert a["probabilities"] == pytest.approx(b["probabilities"], abs=1e-6)
        assert a["variance"] == pytest.approx(b["variance"], abs=1e-6)


def test_the_answer_that_is_nearest_in_the_tree(site):
    """Two kinds of birds share what speaks for a bird: the bat leads, and yet a bird errs less."""
    project = site.project(TREE, likelihood="softmax", noise=0.5)
    project.add(np.vstack([np.eye(3), [[0.3, 0.3, 0.4]], [[0.3, 0.32, 0.38]]]))
    project.label({"k0": "robin", "k1": "tit", "k2": "bat"})
    found = project.post("/predict", {"keys": ["k3", "k4"]})["predictions"]
    assert [p["label"] for p in found] == ["bat", "bat"]
    assert found[1]["decision"] == "tit"
    assert found[1]["nodes"]["bird"] > 0.5


def test_what_is_told_of_it(birds):
    project = birds.get("")
    assert project["classes"] == ["bird", "robin", "tit", "bat"]
    assert project["parents"] == {"robin": "bird", "tit": "bird"}
    model = birds.get("/model")
    assert (model["likelihood"], model["solver"], model["degraded"]) == ("softmax", "softmax", None)
    assert model["classes"] == {"bird": 2, "robin": 2, "tit": 2, "bat": 2}
    card = birds.get("/card")
    assert card["likelihood"] == {"name": "softmax", "why": "it is chosen in the settings of the project"}
    assert card["classes"]["bird"] == {"labelled": 2, "predicted": 0}
    assert card["classes"]["robin"]["predicted"] > 0
    assert set(card["figures"]["confusion"]) == {"bird", "robin", "tit", "bat"}
    assert birds.get("/insights")["uncertainty"]["counts"]
    assert {p["label"] for p in birds.get("/map")["points"]} == {"bird", "robin", "tit", "bat", None}
    assert len(birds.get("/ranked?by=surprising")["items"]) == 8
    assert birds.get("/why/k5")["label"] == "robin"


def test_a_label_at_a_node_is_exported_by_its_name(birds):
    rows = {row["key"]: row["label"] for row in csv.DictReader(io.StringIO(birds.get("/labels?format=csv").text))}
    assert rows == FIRST
    assert birds.get("/items/k2")["label"] == "bird"


@pytest.mark.parametrize("strategy", ["unc", "entropy", "bald", "emoc"])
def test_questions(birds, strategy):
    items = birds.post("/query", {"count": 3, "strategy": strategy})["items"]
    assert {item["strategy"] for item in items} == {strategy}
    for item in items:
        assert item["key"] not in FIRST
        assert set(item["mean"]) == {"robin", "tit", "bat"}
        assert sum(item["mean"].values()) == pytest.approx(0.0, abs=1e-9)
        birds.delete(f"/leases/{item['lease']['id']}", 204)


def test_a_tree_grows_moves_and_is_merged(site):
    project = site.project(TREE, likelihood="softmax")
    project.add(X)
    project.label(FIRST)
    answer = project.post("/classes", {"name": "great tit", "parent": "tit"}, 201)
    assert answer["parents"]["great tit"] == "tit"
    project.label({"k15": "great tit"})
    assert set(project.post("/predict", {"keys": ["k15"]})["predictions"][0]["nodes"]) == {"bird", "tit"}
    answer = project.patch("/classes/bat", {"parent": "bird"})
    assert answer["parents"]["bat"] == "bird"
    answer = project.patch("/classes/bat", {"name": "flying fox", "parent": None})
    assert answer["parents"] == {"robin": "bird", "tit": "bird", "great tit": "tit"}
    answer = project.post("/classes/tit/merge", {"into": "robin"})
    assert answer == {
        "classes": ["bird", "robin", "flying fox", "great tit"],
        "parents": {"robin": "bird", "great tit": "robin"},
    }
    assert project.get("/items/k12")["label"] == "robin"
    assert project.get("/model")["degraded"] is None
    assert project.get("")["parents"] == answer["parents"]


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        ([{"name": "a", "parent": "b"}], "there is no class 'b'"),
        ([{"name": "a", "parent": "a"}], "cannot be a kind of itself"),
        ([{"name": "a", "parent": "b"}, {"name": "b", "parent": "a"}], "cannot be a kind of itself"),
        (["0", *({"name": str(i), "parent": str(i - 1)} for i in range(1, 20))], "may have 16 levels"),
        (["a", {"name": "a", "parent": None}], "different names"),
        (["a", {"name": "b", "kind": "a"}], "unknown name"),
    ],
)
def test_trees_that_are_none(site, classes, message):
    body = {"name": "p", "classes": classes, "settings": {"likelihood": "softmax"}}
    assert message in site.call("POST", "/v1/projects", 422, json=body)["detail"]


def test_a_tree_needs_softmax(site):
    needs = "a tree of classes needs softmax: set likelihood to softmax first"
    answer = site.call("POST", "/v1/projects", 422, json={"name": "p", "classes": TREE})
    assert answer["detail"] == needs
    project = site.project(["bird"])
    assert project.call("POST", "/classes", 422, json={"name": "tit", "parent": "bird"})["detail"] == needs
    project.patch("", {"settings": {"likelihood": "softmax"}})
    project.post("/classes", {"name": "tit", "parent": "bird"}, 201)
    assert project.call("PATCH", "", 422, json={"settings": {"likelihood": "gaussian"}})["detail"] == needs
    project.call("PATCH", "/classes/tit", 422, json={})
    project.patch("/classes/tit", {"parent": None})
    project.patch("", {"settings": {"likelihood": "gaussian"}})
    answer = project.call("PATCH", "", 422, json={"settings": {"likelihood": "softmax", "balance": True}})
    assert "balance" in answer["detail"]


def test_training_by_cross_validation(site):
    project = site.project(TREE, likelihood="softmax", kernel="auto")
    project.add(X)
    project.label(FIRST | {"k26": "bat", "k27": "bat", "k16": "tit", "k3": "robin"})
    done = project.wait(project.post("/train", {"tune": True}, 202)["job"])
    assert done["state"] == "done", done
    model = project.get("/model")
    assert {"noise[1]", "noise[2]"} <= set(model["hyperparameters"])
    assert "leave-one-out" in model["kernel"]
    assert project.post("/predict", {"keys": ["k5"]})["predictions"][0]["label"] == "robin"


def test_a_gaussian_project_becomes_a_softmax_one(site):
    project = site.project(["robin", "tit", "bat"])
    project.add(X)
    project.label({key: name for key, name in FIRST.items() if name != "bird"})
    before = project.post("/predict", {"keys": ["k5"]})["predictions"][0]
    assert before["decision"] == before["label"]
    assert before["nodes"] == {}
    project.patch("", {"settings": {"likelihood": "softmax"}})
    job = project.post("/train", {"tune": False}, 202)["job"]
    project.wait(job)
    assert project.get("/model")["solver"] == "softmax"


def test_votes_at_nodes(site):
    project = site.project(TREE, likelihood="softmax", overlap=3)
    project.add(X)
    others = [project.as_other() for _ in range(3)]
    for who, label in zip(others, ["bird", "robin", "bird"], strict=True):
        who.label({"k0": label})
    assert project.get("/items/k0")["label"] == "bird"
    assert project.get("/agreement")["items"] == 1
