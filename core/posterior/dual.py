"""Dual posterior: Cholesky of K + N, n x n. Any kernel; best for n up to a few thousand."""

from typing import NamedTuple, Self

import numpy as np

from core._types import Floats, Indices
from core.linalg import Factor, HistogramOperator, KernelExpansion, Operator, gram
from core.posterior.base import Posterior, Variances
from core.posterior.pairs import PairVariances, pay_in_dual, without_rows
from core.rows import Rows, Size, is_stored

FEW = 64  # rows of a query for which what was solved is kept


class _Solved(NamedTuple):
    """What was solved for a query of k rows, which may be about to be added."""

    query: Rows
    columns: Floats  # K(X, query), n x k
    halves: Floats  # L^-1 of them
    whole: Floats  # (K + N)^-1 of them


class DualPosterior(Posterior):
    """Appends and deletes rows of the factor in O(n^2)."""

    name = "dual"
    block_rows = 1024
    _solved: _Solved | None = None  # for the last small query, until a change

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
        solved = self._solved_for(query)
        return np.asarray((self.operator.cross(query) if solved is None else solved.columns).T @ self._weights)

    def inverse_times(self, v: Floats) -> Floats:
        return self._factor.solve(v)

    def covariance(self, query: Rows) -> KernelExpansion:
        solved = self._solve_for(query)
        if len(query) <= FEW and is_stored(query):
            self._solved = solved
        return self.operator.difference(query, solved.whole)

    def _solve_for(self, query: Rows) -> _Solved:
        columns = self.operator.cross(query)[: self._factor.n]  # there may be rows already that it does not know
        halves = self._factor.half_solve(columns)
        return _Solved(query, columns, halves, self._factor.other_half(halves))

    def _solved_for(self, query: Rows) -> _Solved | None:
        """What is known already, if it is of these rows."""
        return self._solved if self._solved is not None and self._solved.query is query else None

    def add(self, query: Rows, targets: Floats, noise: Floats) -> None:
        self._solved = self._solved_for(query)
        super().add(query, targets, noise)
        self._solved = None

    def follow_levels(self) -> None:
        self._solved = None
        super().follow_levels()

    def _fit(self) -> None:
        self._solved = None
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
        added = self.operator.training_rows(np.arange(n, len(self.operator)))
        _, columns, halves, whole = self._solved or self._solve_for(added)
        corner = self.operator.cross(added, n) + np.diag(self.noise[n:])
        if not self._factor.append(columns, corner, halves):
            return False
        # The last columns of the inverse are [-whole; 1] times its corner.
        surprise = self._factor.solve_last(self.targets[n:] - columns.T @ self._weights)
        self._weights = np.concatenate([self._weights - whole @ surprise, surprise])
        return True

    def _removing(self, rows: Indices) -> None:
        self._solved = None
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
