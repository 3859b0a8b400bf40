import numpy as np
import pytest
import scipy.sparse as sp

from core.experiments.evaluation import Evaluation, evaluate
from core.experiments.simulation import Dataset
from tests.core.data import size, word_counts

N = size(80, 30)


@pytest.fixture
def dataset():
    x, y = word_counts(N, 6, 3)
    test, y_test = word_counts(20, 6, 3, seed=1)
    return Dataset(x, y, test, y_test, 3)


def test_each_likelihood_is_fitted_to_the_same_rows(dataset):
    seen = []
    found = evaluate(dataset, kernel="hik", on_progress=lambda: seen.append(1))
    assert [one.likelihood for one in found] == ["gaussian", "softmax", "logistic"]
    assert len(seen) == 3
    for one in found:
        assert one.probabilities.shape == (20, 3)
        assert np.allclose(one.probabilities.sum(axis=1), 1.0)
        assert one.quality.accuracy == pytest.approx(1.0 - one.error(0.0))


def test_few_rows_and_a_class_that_they_lack(dataset):
    lone = Dataset(dataset.x, np.where(np.arange(N) < N - 1, dataset.y % 2, 2), dataset.x_test, dataset.y_test, 3)
    first, again = (evaluate(lone, ["logistic"], rows=6)[0].probabilities for _ in range(2))
    assert np.array_equal(first, again)
    assert not first[:, 2].any()


def test_sparse_rows_stay_sparse(dataset):
    sparse = Dataset(sp.csr_array(dataset.x), dataset.y, sp.csr_array(dataset.x_test), dataset.y_test, 3)
    found = evaluate(sparse, ["logistic"])[0]
    assert np.allclose(found.probabilities.sum(axis=1), 1.0)


def test_errors_when_rows_are_rejected():
    p = np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4]])
    found = Evaluation("softmax", p, np.array([0, 0, 0, 1]))
    assert [found.error(share) for share in (0.0, 0.1, 0.25, 1.0)] == [0.25, 0.25, 0.0, 0.0]
