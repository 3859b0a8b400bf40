import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from core.histograms import Histograms, raw_rows
from core.kernels import NormalisedIntersectionKernel
from core.linalg import histogram_operator
from core.posterior import POSTERIORS, iterative
from tests.core.data import continuous, size, word_counts
from tests.core.posterior.contract import PosteriorContract
from tests.reference.dense import targets


class TestIterative(PosteriorContract):
    name = "iterative"
    tolerance = 1e-6

    @pytest.mark.parametrize("scale", [1e-150, 1e-20, 1e20, 1e150])
    def test_any_scale_stays_finite(self, scale):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # it may give up at such scales, but says so
            super().test_any_scale_stays_finite(scale)

    def test_it_says_when_it_did_not_converge_and_what_to_change(self, monkeypatch):
        monkeypatch.setattr(iterative, "MAX_ROUNDS", 1)
        monkeypatch.setattr(iterative, "CoarsePreconditioner", lambda *args, **_: lambda r: r)
        x, y = word_counts(size(200, 30), 20, 3)
        with pytest.warns(ConvergenceWarning, match=r"after 1 rounds at a relative residual of .* raise the noise"):
            posterior = self.build(x, y, 3)
        assert not posterior.converged
        assert posterior.rounds == 1
        assert posterior.residual() > 1e-8

    @pytest.mark.jit
    def test_a_label_starts_from_the_last_weights(self):
        x = continuous(300, 8)
        y = (x.sum(axis=1) > 2.4).astype(int)
        posterior = self.build(x, y, 2)
        cold = posterior.rounds
        posterior.retarget(posterior.targets)
        assert posterior.rounds == 0
        posterior.add(raw_rows(x[:1]), targets(y[:1], 2), np.array([0.1]))
        assert 0 < posterior.rounds <= cold

    @pytest.mark.jit
    def test_the_preconditioner_saves_rounds(self, monkeypatch):
        x, y = word_counts(3000, 300, 4)
        noise = np.full(len(x), 0.001)
        rounds = self.build(x, y, 4, noise).rounds
        monkeypatch.setattr(iterative, "CoarsePreconditioner", lambda *args, **_: lambda r: r)
        assert rounds < self.build(x, y, 4, noise).rounds / 3


def normalised(name, x, y, noise):
    kernel = NormalisedIntersectionKernel(np.ones(1), np.zeros(x.shape[1], dtype=int), 0.5, amplitude=1.4)
    return POSTERIORS[name](histogram_operator(Histograms.of(x), kernel), targets(y, 3), noise)


def test_a_normalised_kernel_has_the_answers_of_the_dual_posterior():
    """With an empty row, rows that come with new levels, rows that go."""
    x, y = word_counts(size(120, 24), 8, 3)
    x[5] = 0.0
    n = len(x) - 4
    noise = np.random.default_rng(0).uniform(0.05, 0.2, len(x))
    pair = [normalised(name, x[:n], y[:n], noise[:n]) for name in ("dual", "iterative")]
    query = raw_rows(np.vstack([x[:8] * 1.3 + 0.01, np.zeros((1, 8))]))
    changes = [
        lambda one: None,
        lambda one: one.add(raw_rows(x[n:] * 1.1), targets(y[n:], 3), noise[n:]),
        lambda one: one.remove(np.array([0, 3])),
        lambda one: one.retarget(-one.targets),
    ]
    for change in changes:
        for one in pair:
            change(one)
        dual, found = pair
        assert np.allclose(found.means(query), dual.means(query), atol=1e-8)
        assert np.allclose(found.variance(query), dual.variance(query), atol=1e-8)
        assert np.allclose(found.weights, dual.weights, atol=1e-7)
        assert found.residual() < 1e-8


@pytest.mark.jit
def test_the_preconditioner_of_a_normalised_kernel_saves_rounds(monkeypatch):
    x, y = word_counts(2000, 200, 3)
    x = np.round(60 * x) * np.random.default_rng(0).choice([1, 2, 10], len(x))[:, None]  # long and short ones
    noise = np.full(len(x), 0.001)
    rounds = normalised("iterative", x, y, noise).rounds
    monkeypatch.setattr(iterative, "CoarsePreconditioner", lambda *args, **_: lambda r: r)
    assert rounds < normalised("iterative", x, y, noise).rounds / 3
