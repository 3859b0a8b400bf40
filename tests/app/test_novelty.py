"""How unlike everything labelled items are, a project of one class, and variances by name."""

from typing import get_args

import numpy as np
import pytest

from app.services.project.strategies import VarianceName
from core import OnlineLearner, Settings, variance
from core.insight.novelty import LEAST

N, STRANGERS = 60, 4


def pool():
    """Rows of two kinds, and a few of another one."""
    rng = np.random.default_rng(0)
    kinds = np.array([[1.0, 0.2, 0.0, 0.0], [0.2, 1.0, 0.0, 0.0]])
    x = [rng.dirichlet(20 * kinds[i % 2] + 0.01) for i in range(N)]
    strange = rng.dirichlet(20 * np.array([0.0, 0.0, 1.0, 1.0]) + 0.01, size=STRANGERS)
    return np.vstack([x, strange]).round(6)


X = pool()
KEYS = [f"k{i}" for i in range(len(X))]
STRANGE = set(KEYS[N:])


def names():
    return {f"k{i}": "ab"[i % 2] for i in range(N)}


def learner_with(labels, classes=("a", "b")):
    learner = OnlineLearner(Settings(), list(classes))
    learner.add_items(X)
    learner.label_many({KEYS.index(key): name for key, name in labels.items()})
    return learner


@pytest.fixture
def project(site):
    made = site.project()
    made.add(X)
    return made


def test_names_of_variances_are_those_of_the_library():
    assert get_args(VarianceName) == get_args(variance.VarianceName)


def test_predictions_tell_what_is_unlike_anything_so_far(project):
    known = dict(list(names().items())[:40])
    few = dict(list(known.items())[: LEAST - 1])
    project.label(few)
    found = project.post("/predict", {"keys": KEYS})["predictions"]
    assert all(one["unlike"] is None for one in found)
    assert [one["novelty"] for one in found] == pytest.approx(
        learner_with(few).publish().predictive(np.arange(len(X))).novelty.tolist(), abs=1e-9
    )
    project.label({key: name for key, name in known.items() if key not in few})
    by_key = project.post("/predict", {"keys": KEYS})["predictions"]
    assert {key for key, one in zip(KEYS, by_key, strict=True) if one["unlike"]} == STRANGE
    by_row = project.post("/predict", {"features": X.tolist()})["predictions"]
    for one, other in zip(by_key, by_row, strict=True):
        assert one["novelty"] == pytest.approx(other["novelty"], abs=1e-6)
        assert one["unlike"] == other["unlike"]
    (none_such,) = project.post("/predict", {"features": [[0.0, 0.0, 0.0, 0.0]]})["predictions"]
    assert (none_such["novelty"], none_such["unlike"]) == (1.0, True)
    # A question says it, too.
    asked = project.post("/query", {"strategy": "novelty"})["items"][0]
    assert asked["key"] in STRANGE
    assert (asked["strategy"], asked["unlike"]) == ("novelty", True)
    assert asked["novelty"] == pytest.approx(-asked["score"])
    usual = project.post("/query", {"strategy": "likely-no"}, 422)
    assert "strategy" in str(usual)


def test_a_project_of_one_class_ranks_by_novelty(site):
    project = site.project(["usual"])
    project.add(X)
    (first,) = project.post("/query")["items"]
    assert first["strategy"] == "herding"
    project.label(dict.fromkeys(KEYS[:30], "usual"))
    asked = project.post("/query", {"count": 1000, "explore": 0})["items"]
    assert {one["strategy"] for one in asked} == {"novelty"}
    assert asked[0]["key"] in STRANGE  # the others of them are like this one, so that they come later
    learner = learner_with(dict.fromkeys(KEYS[:30], "usual"), ["usual"])
    novelty = learner.novelty_of(np.arange(len(X)))
    free = np.setdiff1d(np.arange(30, len(X)), KEYS.index(first["key"]))  # that one is reserved
    assert novelty[KEYS.index(asked[0]["key"])] == novelty[free].max()
    told = {one["key"]: one["novelty"] for one in asked}
    assert len(told) == len(free)
    assert list(told.values()) == pytest.approx([novelty[KEYS.index(key)] for key in told], abs=1e-9)
    assert {key for key, one in zip(told, asked, strict=True) if one["unlike"]} == STRANGE
    # Once somebody has a name for what is unlike, the chosen strategy takes over.
    project.post("/classes", {"name": "strange"}, 201)
    answer = project.label({asked[0]["key"]: "strange"}, next={"count": 1})
    assert answer["items"] == []  # all others are asked about already
    project.delete(f"/leases/{asked[1]['lease']['id']}", 204)
    assert project.post("/query")["items"][0]["strategy"] == "unc"


def test_predictions_by_cheaper_variances(project):
    project.label(dict(list(names().items())[:40]))
    rows = (0.9 * X + 0.01).tolist()
    exact = project.post("/predict", {"features": rows})
    assert exact["variance"] == "exact"
    for name in get_args(VarianceName)[1:]:
        found = project.post("/predict", {"features": rows, "variance": name})
        assert found["variance"] == name
        for one, other in zip(exact["predictions"], found["predictions"], strict=True):
            assert other["variance"] >= one["variance"] - 1e-9
            assert other["mean"] == pytest.approx(one["mean"])
            assert (other["novelty"], other["unlike"]) == (None, None)
    by_key = project.post("/predict", {"keys": KEYS[:3], "variance": "fapu"})
    assert by_key["variance"] == "exact"  # which is known of items
    project.post("/predict", {"features": rows, "variance": "rough"}, 422)


@pytest.mark.parametrize("settings", [{"kernel": "rbf"}, {"kernel": "linear"}])
def test_a_kernel_without_a_bound_says_what_it_has(site, settings):
    project = site.project(variance="rapu", strategy="unc+", **settings)
    project.add(X)
    project.label(dict(list(names().items())[:10]))
    refused = project.post("/predict", {"features": X.tolist(), "variance": "qrapu"}, 422)
    assert "exact, fapu and qfapu" in refused["detail"]
    project.post("/predict", {"features": X.tolist(), "variance": "qfapu"})
    refused = project.post("/query", {"variance": "rapu"}, 422)
    assert "this model has no variance rapu; it has exact, fapu, qfapu" in refused["detail"]
    asked = project.post("/query")  # the setting is for models that have it
    assert (asked["items"][0]["strategy"], asked["degraded"]) == ("unc+", False)


def test_a_grown_forest_has_exact_variances_and_no_novelty(site):
    project = site.project(model="forest", leaf_size=10, n_trees=2)
    project.add(X)
    project.label(dict(list(names().items())[:40]))
    project.wait(project.post("/train", {}, 202)["job"])
    found = project.post("/predict", {"keys": KEYS})["predictions"]
    assert {(one["novelty"], one["unlike"]) for one in found} == {(None, None)}
    refused = project.post("/predict", {"features": X.tolist(), "variance": "fapu"}, 422)
    assert "a forest that has grown has exact variances alone" in refused["detail"]
    assert project.post("/query")["items"][0]["unlike"] is None


@pytest.mark.parametrize(
    ("setting", "asked", "name"), [("fapu", None, "fapu"), ("fapu", "exact", "exact"), ("exact", "rapu", "rapu")]
)
def test_questions_go_by_a_variance(site, setting, asked, name):
    labels = dict(list(names().items())[:12])
    project = site.project(variance=setting, strategy="unc+")
    project.add(X)
    project.label(labels)
    found = project.post("/query", {"variance": asked, "seed": 5, "count": 3})["items"]
    expected = learner_with(labels).query(3, "unc+", variance=name, seed=5)
    assert [one["key"] for one in found] == [KEYS[pick.row] for pick in expected]
    assert [one["score"] for one in found] == pytest.approx([pick.score for pick in expected], abs=1e-9)


def test_a_question_compares_no_more_items_and_labels_than_takes_a_moment(site, monkeypatch):
    labels = dict(list(names().items())[:12])
    project = site.project(variance="fapu", strategy="variance")
    project.add(X)
    project.label(labels)
    monkeypatch.setattr("app.services.labelling.questions.MOST_PAIRS", 12 * len(X))
    project.delete(f"/leases/{project.post('/query', {'variance': 'fapu'})['items'][0]['lease']['id']}", 204)
    monkeypatch.setattr("app.services.labelling.questions.MOST_PAIRS", 12 * len(X) - 1)
    assert "qfapu does not" in project.post("/query", {"variance": "fapu"}, 422)["detail"]
    found = project.post("/query")["items"][0]
    assert found["score"] == pytest.approx(learner_with(labels).query(1, "variance", variance="qfapu")[0].score)


def test_other_strategies_go_by_the_exact_variance(site):
    project = site.project(variance="fapu")
    project.add(X)
    project.label(dict(list(names().items())[:12]))
    refused = project.post("/query", {"strategy": "eer", "variance": "fapu"}, 422)
    assert "for the strategies variance, unc, unc+" in refused["detail"]
    asked = project.post("/query", {"strategy": "eer"})  # whatever the setting
    assert (asked["items"][0]["strategy"], asked["degraded"]) == ("eer", False)
