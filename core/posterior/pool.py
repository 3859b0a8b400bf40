"""The pool posterior: mean and variance of every pool item, exact, one gather per label (design, section 5)."""

from collections.abc import Iterator
from copy import copy
from typing import Any, Self

import numpy as np

from core._types import Floats, Indices
from core.histograms import CodedRows
from core.linalg import Factor, Predictor
from core.posterior.base import Posterior, between

BLOCK_ENTRIES = 1 << 24  # of covariances at a time


class PoolPosterior:
    """Follows a posterior over a fixed pool of m rows: tell it of each change *before* the posterior makes it.

    With c(.) = cov(f(.), f(x)) and s = c(x) + N_x, a label moves mean by c (y - mean(x)) / s and variance by -c^2 / s;
    several at once are the same with L^-1 c and L^-1 (y - mean(x)), where L L^T = s. A retraction is a label with
    s = N_x - var(x) and the signs turned; a correction moves the mean by c (y' - y) / N.
    """

    def __init__(self, posterior: Posterior, rows: Any) -> None:
        self._rows = rows
        self.refresh(posterior)

    @classmethod
    def of(cls, rows: Any, mean: Floats, variance: Floats) -> Self:
        """From what is known already."""
        pool = cls.__new__(cls)
        pool._rows, pool.mean, pool.variance = rows, mean, variance
        return pool

    def __len__(self) -> int:
        return len(self.variance)

    @property
    def rows(self) -> Any:
        return self._rows

    def refresh(self, posterior: Posterior) -> None:
        """Compute everything again: after hyperparameters changed, or to shed what rounding has added up."""
        self.mean = posterior.means(self._rows)  # m x M
        self.variance = posterior.variance(self._rows)  # m

    def learn(self, posterior: Posterior, query: Any, targets: Floats, noise: Floats) -> None:
        """Some rows are about to be learnt, with these targets (rows x M) and noise (rows)."""
        function = posterior.covariance(query)
        own = function(query) + np.diag(noise)
        factor = Factor(len(own), lambda out: np.copyto(out[: len(own), : len(own)], own))
        changes = factor.half_solve(targets - posterior.means(query))
        self._begin_change()
        for part, covariance in self._blocks(function, len(own)):
            halves = factor.half_solve(covariance.T, overwrite=True)
            self.mean[part] += halves.T @ changes
            self.variance[part] -= np.einsum("rm,rm->m", halves, halves)
        np.maximum(self.variance, 0.0, out=self.variance)

    def forget(self, posterior: Posterior, index: int) -> None:
        """A learnt row is about to be removed."""
        row = posterior.operator.own(np.array([index]))
        function = posterior.influence(index)
        scale = posterior.noise[index] - float(function(row)[0, 0])
        surprise = posterior.targets[[index]] - posterior.means(row)
        self._begin_change()
        for part, covariance in self._blocks(function, 1):
            self.mean[part] += (covariance / -scale) @ surprise
            self.variance[part] += covariance[:, 0] ** 2 / scale
        np.maximum(self.variance, 0.0, out=self.variance)

    def relabel(self, posterior: Posterior, index: int, target: Floats) -> None:
        """A learnt row is about to get another target: the mean moves, the variance does not."""
        change = (target - posterior.targets[index])[None]
        self._begin_change()
        for part, influence in self._blocks(posterior.influence(index), 1):
            self.mean[part] += (influence / posterior.noise[index]) @ change

    def retarget(self, posterior: Posterior) -> None:
        """All targets were replaced (a new class): means again, by one gather."""
        self.mean = posterior.means(self._rows)

    def append(self, posterior: Posterior, rows: Any) -> None:
        """More pool rows."""
        if isinstance(self._rows, CodedRows):
            self._rows = copy(self._rows)  # shares its arrays; whoever holds the old object keeps the old rows
            self._rows.append(rows)
        else:
            self._rows = np.concatenate([self._rows, rows])
        self.mean = np.concatenate([self.mean, posterior.means(rows)])
        self.variance = np.concatenate([self.variance, posterior.variance(rows)])

    def remove(self, rows: Indices) -> None:
        """Drop pool rows; the others move up."""
        if isinstance(self._rows, CodedRows):
            self._rows = copy(self._rows)
            self._rows.remove(rows)
        else:
            self._rows = np.delete(self._rows, rows, axis=0)
        self.mean = np.delete(self.mean, rows, axis=0)
        self.variance = np.delete(self.variance, rows)

    def _begin_change(self) -> None:
        # New arrays, not changed ones: whoever holds the last state keeps it.
        self.mean, self.variance = self.mean.copy(), self.variance.copy()

    def _blocks(self, function: Predictor, columns: int) -> Iterator[tuple[slice, Floats]]:
        """The function of the pool, block by block: rows may be more than memory holds, and are read in one stream."""
        step = max(1, BLOCK_ENTRIES // columns)
        for first in range(0, len(self), step):
            last = min(len(self), first + step)
            yield slice(first, last), function(between(self._rows, first, last))
