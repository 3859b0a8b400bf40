"""Dual posterior: Cholesky of K + N, n x n. Any kernel; best for n up to a few thousand."""

from typing import Self

import numpy as np

from core._types import Floats, Indices
from core.linalg import Factor, HistogramOperator, Operator, gram
from core.posterior.base import Posterior, Variances
from core.posterior.pairs import PairVariances, pay_in_dual, without_rows
from core.rows import Rows, Size


class DualPosterior(Posterior):
    """Appends and deletes rows of the factor in O(n^2)."""

    name = "dual"
    block_rows = 1024

    def draft(self, operator: Operator | None = None) -> Self:
        twin = super().draft(operator)
        twin._factor = self._factor.draft()
        return twin

    @property
    def weights(self) -> Floats:
        return self._weights

    @property
    def jitter(self) -> float:
        return self._factor.jitter

    def variances(self, size: Size) -> Variances:
        operator = self.operator
        if isinstance(operator, HistogramOperator) and operator.in_level_space and pay_in_dual(size, operator):
            table = self._factor.quadratic(operator.level_cross())
            return PairVariances(without_rows(operator), table, explained=True)
        return super().variances(size)

    def _variance(self, query: Rows) -> Floats:
        halves = self._factor.half_solve(self.operator.cross(query), overwrite=True)
        explained: Floats = np.einsum("nb,nb->b", halves, halves)
        return np.maximum(self.operator.diagonal(query) - explained, 0.0)

    def means_of_few(self, query: Rows) -> Floats:
        return np.asarray(self.operator.cross(query).T @ self._weights)

    def inverse_times(self, v: Floats) -> Floats:
        return self._factor.solve(v)

    def _fit(self) -> None:
        n = len(self.operator)
        self._factor = Factor(n, lambda out: gram(self.operator, self.noise, out))
        self._weights = self._factor.solve(self.targets)
        self._refine(self._correct)

    def _correct(self) -> None:
        self._weights = self._weights + self._factor.solve(self.targets - self._system(self._weights))

    def _added(self, n: int) -> None:
        added = len(self.operator) - n
        if added > max(8, n // 8) or not self._append(n):
            self._fit()

    def _append(self, n: int) -> bool:
        """Learn the rows from n on; False (and useless until a fit) if rounding made that impossible."""
        added = np.arange(n, len(self.operator))
        columns = self.operator.cross(self.operator.training_rows(added))
        if not self._factor.append(columns[:n], columns[n:] + np.diag(self.noise[n:])):
            return False
        surprise = self.targets[n:] - columns[:n].T @ self._weights
        self._weights = np.concatenate([self._weights, np.zeros_like(surprise)])
        self._weights += self._factor.last_of_inverse(len(added)) @ surprise
        return True

    def _removing(self, rows: Indices) -> None:
        self._stale = len(rows) > max(8, len(self.operator) // 8)
        if not self._stale:
            for i in sorted(rows, reverse=True):
                self._factor.delete(int(i))

    def _removed(self) -> None:
        if self._stale:
            self._fit()
        else:
            self._retargeted()
            self._fit_if_inexact()

    def _retargeted(self) -> None:
        self._weights = self._factor.solve(self.targets)
