"""The pool posterior: mean and variance of every pool item, exact, one gather per label (core/DESIGN.md, section 4)."""

from typing import Self

import numpy as np

from core._types import Floats
from core.drafts import Drafted
from core.linalg import Factor
from core.posterior.base import Posterior
from core.posterior.parts import (
    Applied,
    Computed,
    Moved,
    Part,
    Parts,
    Retargeted,
    concatenate_parts,
    means_of,
    rows_of,
    size_of,
    variances_of,
)
from core.rows import Rows, Size

MIN_SHARE = 1e-15  # below which it is rounding: the pool is then found to have drifted


class PoolPosterior(Drafted):
    """Means and variances over a pool of m rows. Call its methods *before* the posterior makes the same change.

    With c(.) = cov(f(.), f(x)) and s = c(x) + N_x, a label moves mean by c (y - mean(x)) / s and variance by -c^2 / s;
    several at once are the same with L^-1 c and L^-1 (y - mean(x)), where L L^T = s. A retraction is a label with
    s = N_x - var(x) and the signs turned, where (y - mean(x)) / s = alpha_x N_x / s and s / N_x is a diagonal entry of
    N (K + N)^-1: with little noise the differences would be rounding. A correction moves the mean by c (y' - y) / N.
    """

    def __init__(self, posterior: Posterior, parts: Parts) -> None:
        self.parts = parts
        self.refresh(posterior)

    @classmethod
    def of(cls, parts: Parts) -> Self:
        """From parts whose means and variances are computed."""
        pool = cls.__new__(cls)
        pool.parts = parts
        return pool

    def __len__(self) -> int:
        return len(self.parts)

    @property
    def size(self) -> Size:
        """Total size of the rows."""
        return Size.total(self.parts.collect(size_of))

    @property
    def rows(self) -> Rows:
        """All rows."""
        return rows_of(self.parts)

    @property
    def mean(self) -> Floats:
        """Means of all items, m x M."""
        return concatenate_parts(self.parts.collect(means_of))

    @property
    def variance(self) -> Floats:
        """Variances of all items, m."""
        return concatenate_parts(self.parts.collect(variances_of))

    def refresh(self, posterior: Posterior) -> None:
        """Compute everything again: after a change of hyperparameters, or against accumulated rounding errors."""
        self.parts = self.parts.map(Computed(posterior.predictor.for_items(), posterior.variances(self.size)))

    def prepare(self, posterior: Posterior) -> None:
        """Compute now what the first change would have to: the kernel columns of what is labelled."""
        self.parts.collect(Applied(posterior.predictor.for_items()))

    def learn(self, posterior: Posterior, query: Rows, targets: Floats, noise: Floats) -> None:
        """Rows are about to be added to the posterior, with these targets (rows x M) and noise (rows)."""
        function = posterior.covariance(query)
        own = function(query) + np.diag(noise)
        factor = Factor(len(own), lambda out: np.copyto(out[: len(own), : len(own)], own))
        changes = factor.half_solve(targets - posterior.means_of_few(query))
        # L^-1 c is a function like c.
        self.parts = self.parts.map(Moved(function.for_items(factor.half_solve(np.eye(len(own))).T), changes, 1.0))

    def forget(self, posterior: Posterior, index: int) -> None:
        """A training row is about to be removed."""
        function, share = posterior.influence(index)
        scale = max(share, MIN_SHARE)
        changes = posterior.weights[[index]] / -scale
        self.parts = self.parts.map(Moved(function.for_items(), changes, -1.0 / (posterior.noise[index] * scale)))

    def relabel(self, posterior: Posterior, index: int, target: Floats) -> None:
        """A training row is about to get another target: means change, variances do not."""
        change = (target - posterior.targets[index])[None] / posterior.noise[index]
        self.parts = self.parts.map(Moved(posterior.influence(index).covariance.for_items(), change, 0.0))

    def retarget(self, posterior: Posterior) -> None:
        """All targets were replaced (a new class): means again, by one gather."""
        self.parts = self.parts.map(Retargeted(posterior.predictor.for_items()))

    def append(self, posterior: Posterior, rows: Rows) -> None:
        """More pool rows."""
        self.parts = self.parts.append(Part(rows, posterior.means(rows), posterior.variance(rows)))
