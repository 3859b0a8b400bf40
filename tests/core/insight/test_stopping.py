from itertools import pairwise

import numpy as np
import pytest

from core.histograms import Histograms
from core.insight.stopping import (
    MAX_POINTS,
    WINDOW,
    interval,
    learning_curve,
    leave_one_out_accuracy,
    pool_uncertainty,
    stability,
)
from core.kernels import IntersectionKernel
from core.linalg import HistogramOperator
from core.posterior import POSTERIORS, LabelRegression
from core.tuning import leave_one_out
from tests.core.data import size, word_counts
from tests.reference.dense import DenseGP, hik, targets


@pytest.mark.parametrize("posterior", POSTERIORS)
def test_leave_one_out_is_leaving_one_out(posterior):
    x, y = word_counts(size(40, 15), 6, 3)
    kernel = IntersectionKernel(np.ones(1), np.zeros(6, dtype=int), 0.5)
    model = LabelRegression(HistogramOperator(Histograms.of(x), kernel), y, 3, noise=0.2, rule=posterior)
    means, variances = leave_one_out(model)
    K = hik(x, x, bias=0.5)
    for i in range(len(x)):
        rest = np.delete(np.arange(len(x)), i)
        gp = DenseGP(K[np.ix_(rest, rest)], targets(y, 3)[rest], np.full(len(rest), 0.2))
        assert np.allclose(means[i], gp.means(K[rest, i : i + 1])[0], atol=1e-6)
        assert variances[i] == pytest.approx(gp.variance(K[rest, i : i + 1], K[i, i])[0] + 0.2, abs=1e-6)


def test_intervals_hold_what_they_promise():
    rng = np.random.default_rng(0)
    for truth in (0.5, 0.9, 0.99):
        inside = [low <= truth <= high for low, high in (interval(k, 60) for k in rng.binomial(60, truth, 500))]
        assert np.mean(inside) >= 0.94
    assert interval(0, 10)[0] == 0.0
    assert interval(10, 10)[1] == 1.0


def test_little_is_said_too_early():
    few = leave_one_out_accuracy(np.ones(5, dtype=bool))
    assert few.value is None
    assert "5 labels are too few" in few.meaning
    labels = np.arange(200) % 2
    assert stability(labels[:0], labels).value is None
    assert pool_uncertainty(np.empty(0)).value is None


def test_a_learning_curve_looks_back_on_the_last_answers():
    right = np.repeat([0, 1], 100)
    curve = learning_curve(np.arange(200) * 20, right)
    assert len(curve) <= MAX_POINTS
    assert (curve[0].accuracy, curve[0].judged) == (0.0, 1)
    assert (curve[-1].accuracy, curve[-1].judged, curve[-1].labels) == (1.0, WINDOW, 199 * 20)
    assert all(a.accuracy <= b.accuracy for a, b in pairwise(curve))
    assert all(point.low <= point.accuracy <= point.high for point in curve)
    assert (curve[-1].low, curve[-1].high) == interval(WINDOW, WINDOW)
    assert learning_curve(right[:0], right[:0]) == []


def test_what_is_said_is_what_was_counted():
    found = leave_one_out_accuracy(np.arange(200) < 150)
    assert (found.value, found.low, found.high) == (0.75, *interval(150, 200))
    assert found.meaning.startswith("150 of 200 labels")
    before = np.zeros(100, dtype=int)
    assert stability(before, np.repeat([0, 1], [99, 1])).value == 0.99
    assert pool_uncertainty(np.array([0.0, 0.1])).value == pytest.approx(0.05)
