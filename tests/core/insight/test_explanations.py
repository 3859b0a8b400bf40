import numpy as np
import pytest
import scipy.sparse as sp

from core import Channel, OnlineLearner, Settings
from tests.core.data import continuous, size, word_counts
from tests.reference.dense import hik

N = size(60, 24)
ADDITIVE = [
    {"posterior": "dual"},
    {"posterior": "levels"},
    {"posterior": "iterative"},
    {"transform": "power", "eta": 0.5},
    {"groups": [0, 0, 0, 1, 1, 2, 2, 2], "weights": [1.0, 3.0, 0.0]},
    {"complement": True},
    {"complement": True, "groups": [0, 0, 0, 1, 1, 2, 2, 2], "weights": [1.0, 3.0, 0.5]},
    {"kernel": "linear"},
    {"kernel": "linear", "groups": [0, 0, 0, 1, 1, 2, 2, 2], "weights": [1.0, 3.0, 0.5]},
    {"levels": 5},
    {"normalise": True, "bias": 0.3},
    {"kernel": (Channel(columns=(0, 5), normalise=True), Channel("linear", columns=(3, 8)), Channel("rbf"))},
    {"kernel": (Channel(columns=(2, 8)), Channel("rbf", columns=(0, 2))), "likelihood": "softmax"},
]


def taught(x, y, **settings):
    learner = OnlineLearner(Settings(**settings), ["a", "b", "c"])
    learner.add_items(x)
    learner.label_many({i: "abc"[y[i]] for i in range(12)})
    return learner


@pytest.mark.parametrize("settings", ADDITIVE, ids=str)
def test_parts_and_constant_add_up_to_the_mean(settings):
    x, y = word_counts(N, 8, 3)
    x = continuous(N, 8) - 0.3 if settings.get("complement") else x
    learner = taught(x, y, **settings)
    for item in (0, 5, N - 1):
        found = learner.contributions(item)
        assert np.allclose(found.parts.sum(axis=0) + found.constant, learner.mean[item], atol=1e-9)
        assert found.columns.max() < 8
        assert (np.diff(found.columns) > 0).all()
        if settings.get("groups") and not settings.get("complement") and settings["weights"][2] == 0.0:
            assert np.allclose(found.parts[found.columns >= 5], 0.0)


def test_each_part_is_that_of_its_column():
    x, y = word_counts(N, 8, 3)
    learner = taught(sp.csr_matrix(x), y, levels=None)
    posterior = learner._model.model.posterior
    found = learner.contributions(20)
    assert found.columns.tolist() == np.flatnonzero(x[20]).tolist()
    for column, part in zip(found.columns, found.parts, strict=True):
        alone = hik(x[:12, [column]], x[20:21, [column]])
        assert np.allclose(alone.T @ posterior.weights, part, atol=1e-9)


def test_levels_that_came_later_have_parts_too():
    x, y = word_counts(N, 8, 3)
    learner = taught(x, y)
    learner.add_items(x[:3] * 0.77)
    found = learner.contributions(N + 1)
    assert np.allclose(found.parts.sum(axis=0) + found.constant, learner.mean[N + 1], atol=1e-9)


def test_rbf_is_no_sum_over_columns():
    x, y = word_counts(N, 8, 3)
    assert taught(x, y, kernel="rbf").contributions(0) is None
    with pytest.raises(ValueError, match="item must be a whole number from 0 to"):
        taught(x, y).contributions(N)
