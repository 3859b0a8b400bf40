"""The protocol of a posterior."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from core._types import Floats, Indices
from core.drafts import Drafted
from core.histograms import CodedRows, RawRows
from core.linalg import Operator, Predictor

GOOD_RESIDUAL = 3e-9
SPOILT_RESIDUAL = 1e-7  # of a solution that was carried along: a new one takes seconds where there are many rows
BLOCK_ROWS = 256

Variances = Callable[[Any], Floats]
"""Posterior variances of the rows of a query."""


@dataclass(frozen=True)
class Size:
    """Of a query, or of all the queries that are to come."""

    rows: int
    nnz: int  # codes of coded rows
    coded: bool

    @classmethod
    def of(cls, query: Any) -> "Size":
        """Of one."""
        coded = isinstance(query, CodedRows)
        return cls(query.shape[0] if hasattr(query, "shape") else len(query), query.nnz if coded else 0, coded)

    @classmethod
    def total(cls, sizes: "Iterable[Size]") -> "Size":
        """Of several."""
        known = list(sizes)
        return cls(sum(s.rows for s in known), sum(s.nnz for s in known), all(s.coded for s in known))


NO_ROWS = Size(0, 0, coded=True)


class Influence(NamedTuple):
    """What a learnt row x_i has to do with all others."""

    covariance: Predictor  # x -> cov(f(x), f(x_i))
    share: float  # N_i [(K + N)^-1]_ii = 1 - var(f(x_i)) / N_i: of its noise, what its own label does not explain


class Posterior(Drafted, ABC):
    """f | Y for M functions that share the kernel and the noise: Y = f(X) + e, e ~ N(0, diag(noise)).

    It follows its training rows: rows come and go, targets change, and after each change it is the posterior that a
    fresh fit would give. `operator` belongs to the posterior. A change that fails leaves half of itself: make it in a
    draft, as label regression does.
    """

    name: ClassVar[str]
    block_rows: ClassVar[int] = BLOCK_ROWS  # of a query at a time

    def __init__(self, operator: Operator, targets: Floats, noise: Floats) -> None:
        self.operator = operator
        self.targets = targets  # n x M
        self.noise = noise  # n
        self._predictor: Predictor | None = None
        self._fit()

    def draft(self, operator: Operator | None = None) -> Self:
        """A twin (see core.drafts), over a draft of the operator that may be there already."""
        twin = super().draft()
        twin.operator = self.operator.draft() if operator is None else operator
        return twin

    def add(self, query: Any, targets: Floats, noise: Floats) -> None:
        """Condition on more rows."""
        self._predictor = None
        n = len(self.operator)
        self.targets = np.concatenate([self.targets, targets])
        self.noise = np.concatenate([self.noise, noise])
        self.operator.append(query)
        self._added(n)

    def remove(self, rows: Indices) -> None:
        """Forget rows; the others move up."""
        self._predictor = None
        self._removing(rows)
        self.targets = np.delete(self.targets, rows, axis=0)
        self.noise = np.delete(self.noise, rows)
        self.operator.remove(rows)
        self._removed()

    def retarget(self, targets: Floats) -> None:
        """The same rows with other targets: labels corrected, or another number of functions."""
        self._predictor = None
        self.targets = targets
        self._retargeted()

    def follow_levels(self) -> None:
        """The operator's level table has grown without a new row: make room for the new levels."""
        self._predictor = None

    @property
    def predictor(self) -> Predictor:
        """The posterior mean as a function of its own, which later changes do not touch."""
        if self._predictor is None:
            self._predictor = self._make_predictor()
        return self._predictor

    def means(self, query: Any, *, quantised: bool = False) -> Floats:
        """Posterior means, rows x M."""
        return self.predictor(query, quantised=quantised)

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

    def variance(self, query: Any) -> Floats:
        """Posterior variance of f, the same for all functions."""
        return self.variances(Size.of(query))(query)

    def variances(self, size: Size) -> Variances:  # noqa: ARG002
        """The variance as a function, the cheapest for queries that have this size together.

        It holds until the posterior changes.
        """
        return partial(by_blocks, self._variance, size=self.block_rows)

    @abstractmethod
    def _variance(self, query: Any) -> Floats:
        """Of a few rows."""

    def covariance(self, query: Any) -> Predictor:
        """The functions x -> cov(f(x), f(row)), one for each row of the query."""
        return self.operator.difference(query, self.inverse_times(self.operator.cross(query)))

    def influence(self, row: int) -> Influence:
        """Of a row that is learnt, without the difference of two large numbers."""
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
        """These rows are about to go."""

    @abstractmethod
    def _removed(self) -> None:
        """They are gone."""

    @abstractmethod
    def _retargeted(self) -> None:
        """All targets may be other ones."""

    def _make_predictor(self) -> Predictor:
        return self.operator.predictor(self.weights)

    def _system(self, v: Floats) -> Floats:
        """(K + N) v."""
        return self.operator.product(v) + self.noise[:, None] * v


def by_blocks(function: Variances, query: Any, size: int = BLOCK_ROWS) -> Floats:
    """Apply a function to the query in blocks of rows, so that what it builds (n x rows, S x rows) stays small."""
    rows = Size.of(query).rows
    if rows <= size:
        return function(query)
    return np.concatenate([function(between(query, i, min(rows, i + size))) for i in range(0, rows, size)])


def between(query: Any, first: int, last: int) -> Any:
    """Neighbouring rows of a query, without a copy where that is possible."""
    if isinstance(query, CodedRows):
        return query.between(first, last)
    return query.take(np.arange(first, last)) if isinstance(query, RawRows) else query[first:last]


def taken(query: Any, rows: Indices) -> Any:
    """Rows of a query by number, in this order."""
    return query.take(rows) if isinstance(query, CodedRows | RawRows) else query[rows]
