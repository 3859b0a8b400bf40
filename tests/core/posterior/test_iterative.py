import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from core.histograms import raw_rows
from core.posterior import iterative
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
        monkeypatch.setattr(iterative, "CoarsePreconditioner", lambda *args: lambda r: r)
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
        monkeypatch.setattr(iterative, "CoarsePreconditioner", lambda *args: lambda r: r)
        assert rounds < self.build(x, y, 4, noise).rounds / 3
