"""Labels and features at the edges of what a model can do: finite answers or a clear refusal, never a 5xx."""

import math
import os

import numpy as np
import pytest

from tests.app.input.calls import add_items, finished, label, made, new_project
from tests.app.input.servers import shared_server

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # as where the service runs
KERNELS = ["auto", "hik", "rbf", "linear"]
TORTURE = os.environ.get("ASKNEXT_TORTURE") == "1"
RNG = np.random.default_rng(5309)


@pytest.fixture(scope="module", params=["sqlite", "postgresql"] if TORTURE else ["sqlite"])
def live(request, tmp_path_factory):
    """Numbers are the same on every database."""
    with shared_server(request.param, request, tmp_path_factory.mktemp("data")) as found:
        yield found


@pytest.fixture(params=KERNELS)
def kernel(request):
    return request.param


def assert_sane(http, project, n_items, rows=(), degraded=False):
    """Predictions of all items and of these rows are numbers that can be."""
    trouble = made(http.get(f"/v1/projects/{project}/model"))["degraded"]
    assert degraded or not trouble
    broken = trouble is not None and "exact to" not in trouble
    bodies = [{"keys": [f"i{i}" for i in range(n_items)]}]
    if len(rows):
        bodies.append({"features": [list(map(float, row)) for row in rows]})
    for body in bodies:
        response = http.post(f"/v1/projects/{project}/predict", json=body)
        if broken:
            assert response.status_code == 409
            continue
        answer = made(response)
        assert answer["degraded"] == bool(trouble)
        for one in answer["predictions"]:
            assert all(map(math.isfinite, one["mean"].values())), one
            assert math.isfinite(one["variance"])
            assert one["variance"] >= 0.0
            assert all(0.0 <= p <= 1.0 for p in one["probabilities"].values()), one
            assert sum(one["probabilities"].values()) == pytest.approx(1.0, abs=1e-9)
            assert one["label"] in one["mean"]
    for question in made(http.post(f"/v1/projects/{project}/query", json={"count": 3}))["items"]:
        assert math.isfinite(question["score"])
        assert question["variance"] is None or question["variance"] >= 0.0
        made(http.delete(f"/v1/projects/{project}/leases/{question['lease']['id']}"))

    assert_looks(http, project, broken)


def assert_looks(http, project, broken):
    """What can be seen of the model are numbers, too."""
    for path in ("insights", "card", "ranked?by=uncertain", "ranked?by=surprising", "ranked?by=disagreed"):
        made(http.get(f"/v1/projects/{project}/{path}"))
    for point in made(http.get(f"/v1/projects/{project}/map"))["points"]:
        assert math.isfinite(point["x"])
        assert math.isfinite(point["y"])
        assert 0.0 <= point["uncertainty"] <= 1.0
    why = http.get(f"/v1/projects/{project}/why/i0")
    assert why.status_code == 409 if broken else made(why)


def trained(http, project):
    """Train with all that there is, and tell the job."""
    return finished(http, project, made(http.post(f"/v1/projects/{project}/train", json={"tune": True}))["job"], 120)


def labelled(http, rows, labels, **settings):
    """A project of these rows with these labels, of the first items."""
    project = new_project(http, **settings)
    add_items(http, project, [list(map(float, row)) for row in rows])
    for i, name in enumerate(labels):
        made(label(http, project, {f"i{i}": name}))
    return project


def test_no_label_one_label_one_class(http, kernel):
    rows = RNG.random((12, 4))
    project = labelled(http, rows, [], kernel=kernel)
    assert_sane(http, project, 12, rows[:2])
    for i in range(4):
        made(label(http, project, {f"i{i}": "cat"}))
        assert_sane(http, project, 12, rows[:2])
    assert trained(http, project)["state"] in ("done", "failed")
    assert_sane(http, project, 12, rows[:2])


def test_no_classes_is_a_conflict(http):
    project = new_project(http, classes=(), n_items=3)
    assert http.post(f"/v1/projects/{project}/predict", json={"keys": ["i0"]}).status_code == 409
    assert len(made(http.post(f"/v1/projects/{project}/query", json={"count": 2}))["items"]) == 2
    made(label(http, project, {"i0": "first"}))
    assert_sane(http, project, 3)


def test_a_new_class_after_a_hundred_labels(http, kernel):
    n = 500 if TORTURE else 100
    rows = RNG.random((n + 20, 4))
    project = labelled(http, rows, [], kernel=kernel, open_classes=True)
    names = ["cat" if row[0] > row[1] else "dog" for row in rows]
    for first in range(0, n, 50):
        made(label(http, project, {f"i{i}": names[i] for i in range(first, min(first + 50, n))}))
    made(label(http, project, {f"i{n}": "newcomer"}))
    answer = made(http.post(f"/v1/projects/{project}/predict", json={"keys": [f"i{n}"]}))["predictions"][0]
    assert set(answer["mean"]) == {"cat", "dog", "newcomer"}
    assert_sane(http, project, n + 20, rows[:2])
    assert trained(http, project)["state"] == "done"
    assert_sane(http, project, n + 20, rows[:2])


def test_identical_vectors_with_labels_that_contradict(http, kernel):
    n = 1000 if TORTURE else 200
    rows = [[0.25, 0.5, 0.0]] * n
    project = labelled(http, rows, [], kernel=kernel)
    made(label(http, project, {f"i{i}": ("cat", "dog")[i % 2] for i in range(100)}))
    assert_sane(http, project, n, rows[:1])
    assert trained(http, project)["state"] == "done"
    assert_sane(http, project, n, rows[:1])
    one = made(http.post(f"/v1/projects/{project}/predict", json={"keys": [f"i{n - 1}"]}))["predictions"][0]
    assert one["probabilities"]["cat"] == pytest.approx(0.5, abs=0.01)


def test_zero_vectors(http, kernel):
    project = labelled(http, [[0, 0, 0]] * 10, ["cat", "dog", "cat"], kernel=kernel)
    assert_sane(http, project, 10, [[0, 0, 0], [1, 2, 3]])
    assert trained(http, project)["state"] in ("done", "failed")
    assert_sane(http, project, 10, [[0, 0, 0], [1, 2, 3]])


@pytest.mark.parametrize("scale", [1e150, 1e-150, 1e300, 1e-300, 5e-324])
def test_scales(http, kernel, scale):
    """Refused when they are uploaded, or a model that works."""
    rows = RNG.random((30, 3)) * scale
    check_works(http, rows, kernel)


@pytest.mark.parametrize("scale", [1e150, 1e300])
def test_scales_with_both_signs(http, kernel, scale):
    check_works(http, RNG.standard_normal((30, 3)) * scale, kernel)


def test_scales_that_differ_from_column_to_column(http, kernel):
    check_works(http, RNG.random((30, 4)) * [1e150, 1e-150, 1.0, 1e300], kernel)


def check_works(http, rows, kernel):
    project = new_project(http, kernel=kernel)
    items = [{"key": f"i{i}", "features": row} for i, row in enumerate(rows.tolist())]
    response = http.post(f"/v1/projects/{project}/items", json={"items": items})
    if response.status_code == 422:
        assert made(http.get(f"/v1/projects/{project}/items"))["items"] == []
        return
    made(response)
    middle = np.median(rows[:, 0])
    made(label(http, project, {f"i{i}": "cat" if rows[i, 0] > middle else "dog" for i in range(15)}))
    assert_sane(http, project, 30, rows[:2].tolist(), degraded=True)
    assert trained(http, project)["state"] in ("done", "failed")
    assert_sane(http, project, 30, rows[:2].tolist(), degraded=True)


@pytest.mark.parametrize("noise", [1e-12, 1e-300, 1e12])
def test_noise_that_is_nearly_nothing_or_all(http, kernel, noise):
    rows = np.vstack([RNG.random((20, 3))] * 2)
    names = ["cat", "dog"] * 10 + ["dog", "cat"] * 10  # each item is there twice, and they contradict
    project = labelled(http, rows, [], kernel=kernel, noise=noise)
    made(label(http, project, {f"i{i}": name for i, name in enumerate(names)}))
    assert_sane(http, project, 40, rows[:2].tolist(), degraded=True)
    made(http.delete(f"/v1/projects/{project}/labels/i3"))
    made(label(http, project, {"i5": "cat"}))
    assert_sane(http, project, 40, rows[:2].tolist(), degraded=True)
    assert trained(http, project)["state"] in ("done", "failed")
    assert_sane(http, project, 40, rows[:2].tolist(), degraded=True)


def test_a_model_that_is_not_exact_says_so(http):
    rows = [[0.1 * (i // 30), 0.5, 0.2] for i in range(300)]
    project = new_project(http, kernel="hik", noise=1e-14, retrain="off")
    items = [{"key": f"i{i}", "features": row} for i, row in enumerate(rows)]
    made(http.post(f"/v1/projects/{project}/items", json={"items": items}))
    for first in range(0, 96, 3):
        made(label(http, project, {f"i{i}": RNG.choice(["cat", "dog"]) for i in range(first, first + 3)}))
    assert "exact to" in made(http.get(f"/v1/projects/{project}/model"))["degraded"]
    assert made(http.post(f"/v1/projects/{project}/query", json={"count": 1}))["degraded"]


def test_a_model_that_breaks_says_so_and_comes_back(http, live, monkeypatch):
    """Labels are accepted, questions are drawn at random and `degraded` tells; a training heals it."""
    rows = RNG.random((20, 3))
    project = labelled(http, rows, ["cat", "dog"], kernel="hik")
    learner = live[1].in_memory(project).project.learner
    monkeypatch.setattr(learner, "label_many", lambda *args, **options: 1 / 0, raising=True)
    monkeypatch.setattr("app.services.model.training.is_due", lambda project: False)  # it would heal before we look
    answer = made(label(http, project, {"i2": "cat"}))
    assert answer["accepted"] == 1
    asked = made(http.post(f"/v1/projects/{project}/query", json={"count": 2}))
    assert asked["degraded"]
    assert {item["strategy"] for item in asked["items"]} == {"random"}
    assert "ZeroDivisionError" in made(http.get(f"/v1/projects/{project}/model"))["degraded"]
    assert trained(http, project)["state"] == "done"
    asked = made(http.post(f"/v1/projects/{project}/query", json={"count": 1}))
    assert not asked["degraded"]
    assert_sane(http, project, 20)
