"""What every posterior must do, whatever it computes with. A test class names the posterior and its tolerance."""

from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.histograms import Histograms, code_rows, raw_rows
from core.kernels import IntersectionKernel
from core.linalg import HistogramOperator
from core.posterior import POSTERIORS, pairs
from core.rows import Size
from tests.core.data import continuous, size, word_counts
from tests.reference.dense import DenseGP, hik, targets
from tests.strategies import labelled


class PosteriorContract:
    name: ClassVar[str]
    tolerance: ClassVar[float] = 1e-8

    def build(self, x, y, n_classes, noise=None, rule=None):
        self.kernel = IntersectionKernel(np.ones(1), np.zeros(x.shape[1], dtype=int), 0.5)
        noise = np.full(len(x), 0.1) if noise is None else noise
        operator = HistogramOperator(Histograms.of(x, rule), self.kernel)
        return POSTERIORS[self.name](operator, targets(y, n_classes), noise)

    def check(self, posterior, x, y, n_classes, query, noise=None):
        """Equal to the textbook equations on the rows x with labels y."""
        noise = np.full(len(x), 0.1) if noise is None else noise
        twin = DenseGP(hik(x, x, bias=0.5), targets(y, n_classes), noise)
        cross, own = hik(x, query, bias=0.5), np.diag(hik(query, query, bias=0.5))
        rows = raw_rows(query)
        assert np.abs(posterior.means(rows) - twin.means(cross)).max(initial=0.0) < self.tolerance
        assert np.abs(posterior.variance(rows) - twin.variance(cross, own)).max(initial=0.0) < self.tolerance * (
            1.0 + own.max(initial=0.0)
        )
        assert posterior.residual() < max(self.tolerance, 1e-8)
        assert len(posterior.operator) == len(x)

    @given(labelled())
    def test_equals_the_textbook(self, data):
        x, y, m = data
        x = x / max(1.0, x.max())
        query = np.vstack([x, x * 0.6 + 0.05, np.zeros((1, x.shape[1])), x * 1.5])
        self.check(self.build(x, y, m), x, y, m, query)

    @given(labelled(min_rows=3), st.data())
    def test_rows_and_labels_that_come_and_go_leave_what_a_fresh_fit_gives(self, data, draw):
        x, y, m = data
        x = x / max(1.0, x.max())
        posterior = self.build(x, y, m)
        query = np.vstack([x, x * 0.7])
        for step in draw.draw(st.lists(st.sampled_from(["add", "remove", "relabel", "class"]), max_size=6)):
            if step == "add":
                # Rows seen before, and values between and above the levels.
                factor = draw.draw(st.sampled_from([1.0, 0.7, 1.3]))
                more = (
                    x[draw.draw(st.lists(st.integers(0, len(x) - 1), min_size=1, max_size=3))] * factor
                    if len(x)
                    else query[:1]
                )
                labels = np.array(draw.draw(st.lists(st.integers(0, m - 1), min_size=len(more), max_size=len(more))))
                posterior.add(raw_rows(more), targets(labels, m), np.full(len(more), 0.1))
                x, y = np.vstack([x, more]), np.concatenate([y, labels])
            elif step == "remove" and len(x):
                rows = np.array(sorted(draw.draw(st.sets(st.integers(0, len(x) - 1), min_size=1))))
                posterior.remove(rows)
                x, y = np.delete(x, rows, axis=0), np.delete(y, rows)
            elif step == "relabel" and len(x):
                y = y.copy()
                y[draw.draw(st.integers(0, len(x) - 1))] = draw.draw(st.integers(0, m - 1))
                posterior.retarget(targets(y, m))
            elif step == "class":
                m += 1
                posterior.retarget(targets(y, m))
            self.check(posterior, x, y, m, query)

    def test_the_residual_is_relative_to_the_targets(self):
        x, y = word_counts(12, 6, 2)
        posterior = self.build(x, y, 2)
        posterior.targets = 3.0 * posterior.targets  # for which the solution is a third of what it should be
        posterior._predictor = None
        system = hik(x, x, bias=0.5) + 0.1 * np.eye(12)
        off = np.linalg.norm(system @ posterior.weights - posterior.targets, axis=0)
        expected = (off / np.linalg.norm(posterior.targets, axis=0)).max()
        assert posterior.residual() == pytest.approx(expected, rel=1e-5)
        assert expected > 0.5

    def test_noise_of_its_own_for_each_row(self):
        x, y = word_counts(size(120, 20), 12, 3)
        noise = np.geomspace(0.01, 1.0, len(x))
        query = word_counts(15, 12, 3, seed=5)[0]
        posterior = self.build(x, y, 3, noise)
        self.check(posterior, x, y, 3, query, noise)
        more, labels = word_counts(3, 12, 3, seed=8)
        posterior.add(raw_rows(more), targets(labels, 3), np.array([0.5, 0.02, 0.1]))
        noise = np.append(noise, [0.5, 0.02, 0.1])
        x, y = np.vstack([x, more]), np.append(y, labels)
        self.check(posterior, x, y, 3, query, noise)
        posterior.remove(np.array([1, 4]))
        self.check(posterior, np.delete(x, [1, 4], 0), np.delete(y, [1, 4]), 3, query, np.delete(noise, [1, 4]))

    def test_one_row_at_a_time_from_nothing_to_many(self):
        x, y = word_counts(size(150, 25), 10, 3)
        posterior = self.build(x[:0], y[:0], 3)
        assert not posterior.means(raw_rows(x[:4])).any()
        assert np.allclose(posterior.variance(raw_rows(x[:4])), 1.5)  # k(x, x): the constant and the row's sum
        for i in range(len(x)):
            posterior.add(raw_rows(x[i : i + 1]), targets(y[i : i + 1], 3), np.array([0.1]))
        self.check(posterior, x, y, 3, x[:10] * 0.9)

    def test_all_rows_removed_gives_the_prior_back(self):
        x, y = word_counts(size(40, 12), 6, 2)
        posterior = self.build(x, y, 2)
        posterior.remove(np.arange(len(x)))
        self.check(posterior, x[:0], y[:0], 2, x[:5])

    def test_many_rows_at_once(self):
        x, y = word_counts(size(300, 40), 15, 3)
        posterior = self.build(x[:10], y[:10], 3)
        posterior.add(raw_rows(x[10:]), targets(y[10:], 3), np.full(len(x) - 10, 0.1))
        self.check(posterior, x, y, 3, x[:7] * 0.8)
        posterior.remove(np.arange(5, len(x) - 10))
        kept = np.r_[0:5, len(x) - 10 : len(x)]
        self.check(posterior, x[kept], y[kept], 3, x[:7] * 0.8)

    def test_coded_rows_predict_like_the_raw_ones_they_stand_for(self):
        x, y = word_counts(size(60, 15), 8, 3)
        posterior = self.build(x, y, 3)
        raw = raw_rows(x[:6])
        coded = code_rows(raw, posterior.operator.levels)
        assert np.allclose(posterior.means(coded), posterior.means(raw), atol=1e-12)
        assert np.allclose(posterior.variance(coded), posterior.variance(raw), atol=1e-7)

    @given(labelled(min_rows=2), st.integers(0, 3))
    def test_a_table_of_level_pairs_gives_the_same_variance(self, data, removed):
        x, y, m = data
        x = x / max(1.0, x.max())
        posterior = self.build(x[:1], y[:1], m)
        # The other rows bring levels between those that are there, and one row is empty.
        x, y = np.vstack([x, 0.7 * x, np.zeros((1, x.shape[1]))]), np.concatenate([y, y, y[:1]])
        posterior.add(raw_rows(x[1:]), targets(y[1:], m), np.full(len(x) - 1, 0.1))
        rows = posterior.operator.training_rows(np.arange(len(x)))
        posterior.remove(np.arange(min(removed, len(x))))
        self.check_pairs(posterior, rows, x, x[removed:])
        posterior.remove(np.arange(len(posterior.operator)))
        self.check_pairs(posterior, rows, x, x[:0])

    def check_pairs(self, posterior, rows, query, x):
        twin = DenseGP(hik(x, x, bias=0.5), np.zeros((len(x), 1)), np.full(len(x), 0.1))
        own = np.diag(hik(query, query, bias=0.5))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(pairs, "_pay", lambda cost: cost.by_table < np.inf)
            variances = posterior.variances(Size.of(rows))
        assert isinstance(variances, pairs.PairVariances) == (self.name != "iterative")
        variance = variances(rows)
        assert np.abs(variance - twin.variance(hik(x, query, bias=0.5), own)).max() < self.tolerance * (1.0 + own.max())
        assert np.abs(variance - posterior.variance(raw_rows(query))).max() < self.tolerance * (1.0 + own.max())

    def test_the_inverse_of_its_system(self):
        x, y = word_counts(size(50, 12), 6, 2)
        posterior = self.build(x[:-3], y[:-3], 2)
        posterior.add(raw_rows(0.7 * x[-3:]), targets(y[-3:], 2), np.array([0.2, 0.3, 0.4]))  # levels out of order
        rows = np.vstack([x[:-3], 0.7 * x[-3:]])
        v = np.random.default_rng(0).normal(size=(len(rows), 3))
        expected = np.linalg.solve(hik(rows, rows, bias=0.5) + np.diag(posterior.noise), v)
        assert np.allclose(posterior.inverse_times(v), expected, atol=1e-6)

    def test_queries_larger_than_a_block(self):
        x, y = word_counts(size(50, 10), 6, 2)
        posterior = self.build(x, y, 2)
        query = continuous(size(2100, 300), 6, seed=3)
        self.check(posterior, x, y, 2, query)

    def test_quantised_rows_are_solved_exactly(self):
        x = continuous(size(150, 30), 6)
        y = (x.sum(axis=1) > 1.8).astype(int)
        posterior = self.build(x, y, 2, rule=5)
        levels = posterior.operator.levels
        values = np.zeros((len(x), 7))
        for i in range(len(x)):
            codes = posterior.operator.rows.take(np.array([i])).codes
            values[i, levels.dims[codes]] = levels.values[codes]
        self.check(posterior, values[:, :6], y, 2, continuous(20, 6, seed=4))

    def test_the_predictor_of_before_does_not_change(self):
        x, y = word_counts(size(40, 12), 6, 2)
        posterior = self.build(x, y, 2)
        predictor, query = posterior.predictor, raw_rows(x[:4])
        before = predictor(query)
        posterior.add(raw_rows(x[:2] * 0.7), targets(y[:2], 2), np.full(2, 0.1))
        posterior.remove(np.array([0]))
        assert np.array_equal(predictor(query), before)

    @pytest.mark.parametrize("scale", [1e-150, 1e-20, 1e20, 1e150])
    def test_any_scale_stays_finite(self, scale):
        x, y = word_counts(size(30, 10), 5, 3)
        posterior = self.build(x * scale, y, 3)
        rows = raw_rows(x * scale)
        assert np.isfinite(posterior.means(rows)).all()
        variance = posterior.variance(rows)
        assert np.isfinite(variance).all()
        assert (variance >= 0.0).all()
