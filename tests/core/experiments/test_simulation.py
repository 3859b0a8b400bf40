import numpy as np
import pytest

from core.experiments.simulation import Curve, Dataset, default_settings, marks, simulate
from tests.core.data import word_counts


def dataset(n=200):
    x, y = word_counts(n + 150, 20, 3, words=20)
    return Dataset(x[:n], y[:n], x[n:], y[n:], 3)


@pytest.mark.jit
def test_curves_are_reproducible_and_asking_helps():
    ticks = []
    curves = simulate(dataset(), ["random", "unc"], 40, repeats=3, on_progress=lambda: ticks.append(1))
    again = simulate(dataset(), ["random", "unc"], 40, repeats=3)
    for a, b in zip(curves, again, strict=True):
        assert np.array_equal(a.accuracy, b.accuracy)
    assert len(ticks) == 2 * 3 * len(curves[0].labels)
    assert curves[0].accuracy.shape == (3, len(curves[0].labels))
    assert curves[1].accuracy[:, -1].mean() > 0.8
    assert curves[1].area.mean() > curves[0].area.mean() - 0.02


@pytest.mark.jit
def test_first_items_may_have_labels_from_the_start():
    curves = simulate(dataset(), ["unc", "variance"], 12, repeats=2, initial=12)
    assert np.array_equal(curves[0].accuracy, curves[1].accuracy)


def test_area_and_labels_needed():
    curve = Curve("unc", np.array([10, 20, 40]), np.array([[0.5, 0.9, 1.0], [0.7, 0.9, 0.8]]))
    assert curve.area == pytest.approx([(10 * 0.7 + 20 * 0.95) / 30, (10 * 0.8 + 20 * 0.85) / 30])
    assert curve.labels_needed(0.6) == 10
    assert curve.labels_needed(0.9) == 20
    assert curve.labels_needed(0.95) is None
    assert Curve("unc", np.array([5]), np.array([[0.4]])).area.tolist() == [0.4]


def test_a_budget_beyond_the_pool_ends_with_the_pool():
    assert marks(1000, 30)[-1] == 30
    assert marks(3, 100).tolist() == [3]
    curves = simulate(dataset(12), ["random"], 50, repeats=1, tune=False)
    assert curves[0].labels[-1] == 12


def test_what_is_a_histogram():
    counts, _ = word_counts(50, 20, 3, words=8)
    assert not default_settings(counts).complement
    assert default_settings(np.random.default_rng(0).normal(size=(50, 3))).complement
    assert default_settings(np.random.default_rng(0).random((50, 3))).complement
    assert not default_settings(np.random.default_rng(0).dirichlet(np.ones(3), 50)).complement  # no zeros, sums of 1
    assert not default_settings(1e9 * np.random.default_rng(0).dirichlet(np.ones(3), 50)).complement
    assert default_settings(np.array([[2.0, -1.0], [-1.0, 2.0]])).complement  # of one sum, but with negative values
