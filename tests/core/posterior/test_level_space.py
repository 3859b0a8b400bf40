import numpy as np
import pytest

from core.histograms import Histograms, raw_rows
from core.kernels import IntersectionKernel
from core.linalg import HistogramOperator
from core.posterior import POSTERIORS
from tests.core.data import continuous, size, word_counts
from tests.core.posterior.contract import PosteriorContract
from tests.reference.dense import targets


class TestLevels(PosteriorContract):
    name = "levels"

    def test_levels_inserted_one_by_one_and_many_at_once(self):
        # Values at random: every row brings new levels, between, below and above the known ones.
        x = continuous(size(60, 16), 4)
        y = (x[:, 0] > x[:, 1]).astype(int)
        posterior = self.build(x[:8], y[:8], 2)
        for i in range(8, len(x)):
            posterior.add(raw_rows(x[i : i + 1]), targets(y[i : i + 1], 2), np.array([0.1]))
        self.check(posterior, x, y, 2, continuous(20, 4, seed=2))

    def test_targets_can_change_after_levels_were_inserted(self):
        x = continuous(size(30, 12), 3)
        y = (x[:, 0] > x[:, 1]).astype(int)
        posterior = self.build(x[:6], y[:6], 2)
        posterior.add(raw_rows(x[6:]), targets(y[6:], 2), np.full(len(x) - 6, 0.1))
        posterior.retarget(targets(1 - y, 2))
        self.check(posterior, x, 1 - y, 2, continuous(20, 3, seed=2))

    def test_columns_without_weight_do_not_count(self):
        x, query = continuous(12, 3), continuous(5, 3, seed=1)
        kernel = IntersectionKernel(np.array([1.0, 0.0, 1.0]), np.arange(3), 0.5)
        operator = HistogramOperator(Histograms.of(x), kernel)
        posterior = POSTERIORS["levels"](operator, targets(np.arange(12) % 2, 2), np.full(12, 0.1))
        without = self.build(x[:, ::2], np.arange(12) % 2, 2)
        assert np.allclose(posterior.means(raw_rows(query)), without.means(raw_rows(query[:, ::2])))
        assert np.allclose(posterior.variance(raw_rows(query)), without.variance(raw_rows(query[:, ::2])))

    @pytest.mark.jit
    def test_a_hundred_labels_drift_less_than_1e_8(self):
        x, y = word_counts(1200, 60, 4)
        posterior = self.build(x[:1000], y[:1000], 4)
        fresh = self.build(x[:1000], y[:1000], 4)
        for i in range(1000, 1100):
            posterior.add(raw_rows(x[i : i + 1]), targets(y[i : i + 1], 4), np.array([0.1]))
        posterior.remove(np.arange(1000, 1100))
        query = raw_rows(x[1100:])
        assert np.abs(posterior.means(query) - fresh.means(query)).max() < 1e-8
        assert np.abs(posterior.variance(query) - fresh.variance(query)).max() < 1e-8

    def test_a_correction_takes_an_error_out_of_the_solution(self):
        posterior = self.build(*word_counts(size(60, 15), 6, 2), 2)
        posterior._w = posterior._w * 1.001
        posterior._predictor = None
        assert posterior.residual() > 1e-5
        posterior._refine(lambda: posterior._correct(posterior.operator.features()))
        assert posterior.residual() < 1e-8
