"""Base class of the exact posteriors."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import ClassVar, NamedTuple, Self

import numpy as np

from core._types import Floats, Indices
from core.drafts import Drafted
from core.linalg import KernelExpansion, Operator
from core.rows import Rows, Size, n_rows

GOOD_RESIDUAL = 3e-9
SPOILT_RESIDUAL = 1e-7  # of a solution that was carried along: a new one takes seconds where there are many rows
BLOCK_ROWS = 256

Variances = Callable[[Rows], Floats]
"""Posterior variances of the rows of a query."""


class Influence(NamedTuple):
    """The influence of a training row x_i on the posterior."""

    covariance: KernelExpansion  # x -> cov(f(x), f(x_i))
    share: float  # N_i [(K + N)^-1]_ii = 1 - var(f(x_i)) / N_i: one minus the leverage of the row


class Posterior(Drafted, ABC):
    """f | Y for M functions that share the kernel and the noise: Y = f(X) + e, e ~ N(0, diag(noise)).

    Rows are added and removed and targets change, and after each change it equals the posterior of a new fit. The
    posterior changes `operator`. An exception may leave a change half done: change a draft, as LabelRegression does.
    """

    name: ClassVar[str]
    block_rows: ClassVar[int] = BLOCK_ROWS  # of a query at a time

    def __init__(self, operator: Operator, targets: Floats, noise: Floats) -> None:
        self.operator = operator
        self.targets = targets  # n x M
        self.noise = noise  # n
        self._predictor: KernelExpansion | None = None
        self._fit()

    def draft(self, operator: Operator | None = None) -> Self:
        """A shallow copy to change (see core.drafts), over this draft of the operator or a new one."""
        twin = super().draft()
        twin.operator = self.operator.draft() if operator is None else operator
        return twin

    def add(self, query: Rows, targets: Floats, noise: Floats) -> None:
        """Condition on more rows."""
        self._predictor = None
        n = len(self.operator)
        self.targets = np.concatenate([self.targets, targets])
        self.noise = np.concatenate([self.noise, noise])
        self.operator.append(query)
        self._added(n)

    def remove(self, rows: Indices) -> None:
        """Remove training rows; the indices of later rows decrease."""
        self._predictor = None
        self._removing(rows)
        self.targets = np.delete(self.targets, rows, axis=0)
        self.noise = np.delete(self.noise, rows)
        self.operator.remove(rows)
        self._removed()

    def retarget(self, targets: Floats) -> None:
        """Replace all targets (n x M), perhaps by another number of functions."""
        self._predictor = None
        self.targets = targets
        self._retargeted()

    def follow_levels(self) -> None:
        """Adapt to levels that were inserted into the operator's table without a new row."""
        self._predictor = None

    @property
    def predictor(self) -> KernelExpansion:
        """The posterior mean as a function; later changes of the posterior do not affect it."""
        if self._predictor is None:
            self._predictor = self._make_predictor()
        return self._predictor

    def means(self, query: Rows, *, quantised: bool = False) -> Floats:
        """Posterior means, rows x M."""
        return self.predictor(query, quantised=quantised)

    def means_of_few(self, query: Rows) -> Floats:
        """The same for so few rows that a look-up table would not pay."""
        return self.means(query)

    def residual(self) -> float:
        """Largest column of |(K + N) alpha - Y| / |Y|."""
        scale = np.linalg.norm(self.targets, axis=0)
        error = np.linalg.norm(self._system(self.weights) - self.targets, axis=0)
        return float((error / np.where(scale > 0.0, scale, 1.0)).max(initial=0.0))

    def _refine(self, correct: Callable[[], object]) -> None:
        """Correct the solution while its residual, measured on the rows, is not good and at least halves."""
        reached, before = self.residual(), np.inf
        while GOOD_RESIDUAL < reached < before / 2:
            correct()
            self._predictor = None
            reached, before = self.residual(), reached

    def _fit_if_inexact(self) -> None:
        """Solve from scratch where rounding has spoilt a solution that was carried along."""
        if self.residual() > SPOILT_RESIDUAL:
            self._predictor = None
            self._fit()

    @property
    def jitter(self) -> float:
        """Share by which the diagonal of the factored system grew because rounding had made it singular."""
        return 0.0

    @property
    @abstractmethod
    def weights(self) -> Floats:
        """alpha = (K + N)^-1 Y, n x M."""

    def variance(self, query: Rows) -> Floats:
        """Posterior variance of f, the same for all functions."""
        return self.variances(Size.of(query))(query)

    def variances(self, size: Size) -> Variances:  # noqa: ARG002
        """The variance as a function, the cheapest one for queries of this total size.

        It is valid until the posterior changes.
        """
        return partial(by_blocks, self._variance, size=self.block_rows)

    @abstractmethod
    def _variance(self, query: Rows) -> Floats:
        """The variance of at most `block_rows` rows."""

    def covariance(self, query: Rows) -> KernelExpansion:
        """The functions x -> cov(f(x), f(row)), one for each row of the query."""
        return self.operator.difference(query, self.inverse_times(self.operator.cross(query)))

    def influence(self, row: int) -> Influence:
        """The influence of a training row, computed without the difference of two large numbers."""
        unit = np.zeros((len(self.operator), 1))
        unit[row] = self.noise[row]
        column = self.inverse_times(unit)
        return Influence(self.operator.predictor(column), float(column[row, 0]))

    @abstractmethod
    def inverse_times(self, v: Floats) -> Floats:
        """(K + N)^-1 v, n x columns."""

    @abstractmethod
    def _fit(self) -> None:
        """Solve from scratch for the operator's rows."""

    @abstractmethod
    def _added(self, n: int) -> None:
        """Rows n and later are new."""

    @abstractmethod
    def _removing(self, rows: Indices) -> None:
        """Called before these rows are removed from the operator."""

    @abstractmethod
    def _removed(self) -> None:
        """Called after the rows were removed."""

    @abstractmethod
    def _retargeted(self) -> None:
        """Called after `targets` was replaced."""

    def _make_predictor(self) -> KernelExpansion:
        return self.operator.predictor(self.weights)

    def _system(self, v: Floats) -> Floats:
        """(K + N) v."""
        return self.operator.product(v) + self.noise[:, None] * v


def by_blocks(function: Variances, query: Rows, size: int = BLOCK_ROWS) -> Floats:
    """Apply a function to the query in blocks of rows, so that what it builds (n x rows, S x rows) stays small."""
    n = n_rows(query)
    if n <= size:
        return function(query)
    return np.concatenate([function(query[i : i + size]) for i in range(0, n, size)])
