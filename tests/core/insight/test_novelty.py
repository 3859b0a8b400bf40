"""What is unlike everything labelled: the figure, and from where on it is said."""

import numpy as np
import pytest

from core import OnlineLearner, Settings
from core.insight.novelty import LEAST, LEVEL, unlike_above
from tests.core.data import size, word_counts


def taught(x, labels, **settings):
    learner = OnlineLearner(Settings(**settings), ["a", "b"])
    learner.add_items(x)
    learner.label_many(labels)
    return learner


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"normalise": True, "bias": 0.1},
        {"kernel": "rbf", "gamma": 2.0},
        {"likelihood": "softmax"},
        {"balance": True},
    ],
)
def test_left_out_novelty_is_that_of_a_model_without_the_label(settings):
    x, y = word_counts(60, 8, 2)
    labels = {item: "ab"[y[item]] for item in range(30)}
    learner = taught(x, labels, **settings)
    published = learner.publish()
    left_out = []
    for item in range(30):
        other = taught(x, {i: name for i, name in labels.items() if i != item}, **settings)
        if settings.get("balance"):  # the noise of all others would change, too
            noise = published.noises[list(other._model.labelled_items)]
            other._model.model.posterior.noise[:] = noise
            other._model.model.posterior._fit()
            other._model.refresh()
        left_out.append(other.publish().predictive(np.array([item])).novelty[0])
    assert published.unlike_above == pytest.approx(unlike_above(np.array(left_out)), abs=1e-6)
    assert published.unlike_above == pytest.approx(max(left_out), abs=1e-6)


def test_it_is_one_without_anything_in_common_and_falls_with_labels():
    x = np.array([[1.0, 0, 0, 0], [0.9, 0.1, 0, 0], [0, 0, 1.0, 0], [0.5, 0.5, 0, 0], [0.2, 0, 0.8, 0], [0, 0, 0, 0]])
    learner = taught(x, {0: "a"}, noise=0.1)
    first = learner.publish().predictive(np.arange(6)).novelty
    assert first[2] == 1.0
    assert first[5] == 1.0  # it has nothing at all
    assert first[0] < first[1] < first[3] < 1.0
    learner.label(4, "b")
    second = learner.publish().predictive(np.arange(6)).novelty
    assert (second <= first).all()
    assert second[2] < 0.5
    assert np.allclose(learner.predictive(x).novelty, second)
    assert learner.predictive(x, "fapu").novelty is None


def test_scale_of_features_does_not_matter():
    x, y = word_counts(40, 8, 2)
    labels = {item: "ab"[y[item]] for item in range(20)}
    found = [
        taught(c * x, labels, noise=0.1 * c, bias=c).publish().predictive(np.arange(40)).novelty for c in (1.0, 100.0)
    ]
    assert np.allclose(*found)


def test_how_often_rows_like_the_labelled_ones_are_called_unlike():
    """By the order of one row among those that are like it: at most LEVEL, or 1 in n + 1."""
    rng = np.random.default_rng(0)
    for n in (LEAST, 50, 99, 400):
        rows = rng.random((4000, n + 1))
        called = np.mean([row[0] > unlike_above(row[1:]) for row in rows])
        allowed = max(LEVEL, 1.0 / (n + 1))
        assert called <= allowed + 3 * np.sqrt(allowed / len(rows))
        assert called >= 0.4 * allowed
    assert unlike_above(np.linspace(0, 1, LEAST - 1)) is None


def test_a_class_that_nobody_has_seen_is_told():
    n = size(400, 120)
    x, y = word_counts(n, 20, 3, seed=2)
    x = x / x.sum(axis=1, keepdims=True)
    known = np.flatnonzero(y < 2)[: n // 3]
    learner = taught(x, {int(item): "ab"[y[item]] for item in known})
    published = learner.publish()
    rest = np.setdiff1d(np.arange(n), known)
    unlike = published.predictive(rest).novelty > published.unlike_above
    assert unlike[y[rest] < 2].mean() < 0.06
    novelty = published.predictive(rest).novelty
    assert np.mean(novelty[y[rest] == 2]) > np.mean(novelty[y[rest] < 2])
