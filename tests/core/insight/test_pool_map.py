import numpy as np
import pytest

from core import OnlineLearner, Settings
from core.insight.pool_map import plane_map
from tests.core.data import size, word_counts
from tests.reference.dense import hik

N = size(90, 30)


def learner_of(x, **settings):
    learner = OnlineLearner(Settings(**settings), ["a", "b"])
    learner.add_items(x)
    return learner


def dense_map(K):
    """The two leading eigenvectors of the centred kernel matrix, scaled by the roots of their eigenvalues."""
    centre = np.eye(len(K)) - 1.0 / len(K)
    values, vectors = np.linalg.eigh(centre @ K @ centre)
    found = vectors[:, [-1, -2]] * np.sqrt(np.maximum(values[[-1, -2]], 0.0))
    return found * np.sign(found[np.abs(found).argmax(axis=0), [0, 1]])


@pytest.mark.parametrize("weights", [None, [3.0, 0.5, 1.0, 1.0, 0.0, 2.0, 1.0, 1.0]])
def test_with_all_items_as_landmarks_it_is_kernel_pca(weights):
    x, _ = word_counts(N, 8, 3)
    found = plane_map(learner_of(x, levels=None, weights=weights).pool_kernel())
    assert np.allclose(found, dense_map(hik(x, x, weights=weights, bias=1.0)), atol=1e-8)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_dense_kernels(kernel):
    x = np.random.default_rng(0).normal(size=(N, 4))
    K = x @ x.T if kernel == "linear" else np.exp(-0.3 * ((x[:, None] - x) ** 2).sum(axis=2))
    found = plane_map(learner_of(x, kernel=kernel, gamma=0.3).pool_kernel())
    assert np.allclose(found, dense_map(K), atol=1e-6)


def test_few_landmarks_come_close():
    x, _ = word_counts(90, 8, 3)
    found = plane_map(learner_of(x).pool_kernel(), n_landmarks=45, n_sample=60)
    exact = dense_map(hik(x, x))
    assert np.abs(np.corrcoef(found[:, 0], exact[:, 0])[0, 1]) > 0.95
    assert np.abs(np.corrcoef(found[:, 1], exact[:, 1])[0, 1]) > 0.9


def test_it_is_the_same_each_time_and_labels_do_not_move_it():
    x, y = word_counts(N, 8, 2)
    learner = learner_of(x)
    pool = learner.pool_kernel()
    before = plane_map(pool)
    learner.label_many({i: "ab"[y[i]] for i in range(10)})
    assert np.array_equal(plane_map(learner.pool_kernel()), before)
    learner.add_items(x[:5] * 0.7)  # new values, new levels
    assert np.array_equal(plane_map(pool), before)  # what was taken stays
    assert plane_map(learner.pool_kernel()).shape == (N + 5, 2)


@pytest.mark.parametrize("rows", [[[1.0, 2.0]], [[1.0, 2.0]] * 4, [[0.0, 0.0]] * 3, [[1.0, 0.0], [2.0, 0.0]]])
def test_pools_without_extent(rows):
    found = plane_map(learner_of(np.array(rows)).pool_kernel())
    assert found.shape == (len(rows), 2)
    assert np.isfinite(found).all()
    assert np.allclose(found[:, 1], 0.0)


def test_huge_values_can_be_held():
    found = plane_map(learner_of(np.array([[1e250, 0.0], [0.0, 1e250], [1e249, 1e249]])).pool_kernel())
    assert np.isfinite(found).all()
    assert np.ptp(found) > 0.0
