import numpy as np
import pytest

from core.histograms import raw_rows
from core.kernels import LinearKernel, RBFKernel
from core.linalg import DenseOperator, Factor
from core.posterior import DualPosterior, dual
from tests.core.data import size, word_counts
from tests.core.posterior.contract import PosteriorContract
from tests.reference.dense import DenseGP, targets


class TestDual(PosteriorContract):
    name = "dual"

    def test_a_correction_takes_an_error_out_of_the_solution(self):
        posterior = self.build(*word_counts(size(60, 15), 6, 2), 2)
        posterior._weights = posterior._weights * 1.001
        assert posterior.residual() > 1e-5
        posterior._refine(posterior._correct)
        assert posterior.residual() < 1e-8

    def test_a_few_rows_more_or_less_need_no_new_factor(self, monkeypatch):
        x, y = word_counts(40, 6, 2)
        posterior = self.build(x[:30], y[:30], 2)

        def refuse(*_):
            raise AssertionError("a new factor")

        monkeypatch.setattr(dual, "Factor", refuse)
        posterior.add(raw_rows(x[30:38]), targets(y[30:38], 2), np.full(8, 0.1))
        posterior.remove(np.arange(8))
        self.check(posterior, x[8:38], y[8:38], 2, x[38:])
        with pytest.raises(AssertionError, match="a new factor"):
            posterior.remove(np.arange(9))

    def test_rows_whose_covariance_is_known_are_added_without_a_solve(self, monkeypatch):
        x, y = word_counts(34, 6, 2)
        posterior = self.build(x[:30], y[:30], 2)
        posterior.operator.learn_levels(raw_rows(x))
        posterior.follow_levels()
        rows = posterior.operator.encode(raw_rows(x[30:]))
        posterior.covariance(rows)

        def refuse(*_):
            raise AssertionError("a solve")

        more = rows, targets(y[30:], 2), np.full(4, 0.1)
        with monkeypatch.context() as patch:
            patch.setattr(Factor, "half_solve", refuse)
            posterior.add(*more)
            with pytest.raises(AssertionError, match="a solve"):
                posterior.draft().add(*more)
        self.check(posterior, x, y, 2, x)

    @pytest.mark.parametrize("change", ["more", "fewer", "others", "levels"])
    def test_what_was_known_before_a_change_is_not_used(self, change):
        x, y = word_counts(36, 6, 2)
        posterior, kept = self.build(x[:30], y[:30], 2), list(range(30))
        noise = np.full(2, 0.1)
        rows = raw_rows(x[30:32])
        if change != "levels":
            posterior.operator.learn_levels(raw_rows(x))
            posterior.follow_levels()
            rows = posterior.operator.encode(rows)
        posterior.covariance(rows)
        if change == "more":
            posterior.add(raw_rows(x[32:34]), targets(y[32:34], 2), noise)
            kept += [32, 33]
        elif change == "fewer":
            posterior.remove(np.array([3, 17]))
            kept = np.delete(kept, [3, 17]).tolist()
        elif change == "others":
            posterior.retarget(targets(1 - y[:30], 2))
            y = np.concatenate([1 - y[:30], y[30:]])
        posterior.add(rows, targets(y[30:32], 2), noise)
        kept += [30, 31]
        self.check(posterior, x[kept], y[kept], 2, x[34:])


@pytest.mark.parametrize("kernel", [RBFKernel, LinearKernel])
def test_dense_kernels(kernel):
    rng = np.random.default_rng(0)
    x, y, query = rng.normal(size=(30, 4)), rng.integers(0, 3, 30), rng.normal(size=(9, 4))
    kernel = kernel(np.ones(1), np.zeros(4, dtype=int), 0.5)
    posterior = DualPosterior(DenseOperator(x[:25], kernel), targets(y[:25], 3), np.full(25, 0.2))
    for i in range(25, 30):
        posterior.add(x[i : i + 1], targets(y[i : i + 1], 3), np.array([0.2]))
    posterior.remove(np.array([3, 17]))
    x, y = np.delete(x, [3, 17], axis=0), np.delete(y, [3, 17])
    twin = DenseGP(kernel.cross(x, x), targets(y, 3), np.full(28, 0.2))
    assert np.allclose(posterior.means(query), twin.means(kernel.cross(x, query)), atol=1e-10)
    expected = twin.variance(kernel.cross(x, query), kernel.diagonal(query))
    assert np.allclose(posterior.variance(query), expected, atol=1e-10)
