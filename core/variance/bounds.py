"""Upper bounds of the predictive variance (Freytag2012, section 4): the coarser, the cheaper."""

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Literal

import numpy as np

from core._jit import products
from core._types import Dims, Floats, no_rows
from core.histograms import CodedRows, RawRows
from core.kernels import IntersectionKernel
from core.linalg import HistogramOperator, LookupTable, Operator, Predictor, largest_eigenpairs
from core.linalg.products import scatter
from core.posterior.base import Posterior, Variances, by_blocks
from core.rows import Rows

BoundName = Literal["fapu", "qfapu", "rapu", "qrapu"]
VarianceName = Literal["exact", "fapu", "qfapu", "rapu", "qrapu"]

EIGENPAIRS = 2  # as in Freytag2012, section 6.1


@dataclass(frozen=True, eq=False)
class _Squared:
    """u^2 in place of u: min(a, b)^2 = min(a^2, b^2), so sums of squares are read from a table too (eq. 14)."""

    kernel: IntersectionKernel

    def apply(self, values: Floats, dims: Dims) -> Floats:
        return self.kernel.apply(values, dims) ** 2


class VarianceBounds:
    """Bounds for one state of a model: exact <= fapu(k) <= fapu(k - 1) <= rapu, and fapu <= qfapu, rapu <= qrapu.

    With mu_i, e_i the largest eigenpairs of K + N and nu_i = k_*^T e_i (eq. 16):
    k_** - sum_i nu_i^2 / mu_i - (|k_*|^2 - sum_i nu_i^2) / mu_{k+1}.
    `fapu` computes |k_*|^2 from all training rows. `qfapu` takes a lower bound of it, the larger of sum_i nu_i^2 and
    sum_i sum_d min(x_d, x_id)^2, which keeps the bound valid and costs O(k non-zeros) a row whatever n. `rapu` is k = 0
    with that sum; `qrapu` reads the sum at the lower end of a value's cell, one look-up a non-zero. Only one histogram
    kernel has that sum: for other kernels qfapu does with sum_i nu_i^2, and there is no rapu.
    """

    def __init__(self, operator: Operator, noise: Floats, k: int) -> None:
        n = len(operator)
        self.k = min(k, max(n - 1, 0))
        self._operator = operator
        self._mu, vectors = largest_eigenpairs(
            lambda v: operator.product(v) + noise[:, None] * v, n, min(self.k + 1, n)
        )
        self._projections = operator.predictor(vectors[:, : self.k])

    def by(self, method: BoundName) -> Variances:
        """One of the bounds as a function of rows; a ValueError where the kernel has no such bound."""
        if method not in variances_of(self._operator):
            raise ValueError(
                f"variance {method} is for one histogram kernel alone; this model has another kernel, or a sum of "
                "several, for which there are exact, fapu and qfapu"
            )
        return partial(self, method=method)

    @cached_property
    def _histograms(self) -> HistogramOperator:
        assert isinstance(self._operator, HistogramOperator)
        return self._operator

    @cached_property
    def _table(self) -> LookupTable:
        """x -> sum_i r_i^2 sum_d min(x_d, x_id)^2, with the factors r of a normalised kernel."""
        operator = self._histograms
        u = operator.u**2
        sums = scatter(operator.rows.codes, operator.rows.starts, operator.factors[:, None] ** 2, len(u))
        table = np.empty_like(sums)
        products.table(operator.levels.order, operator.levels.start, u, sums, table)
        return LookupTable(operator.levels, _Squared(operator.kernel), u, table)

    @cached_property
    def _lowest(self) -> LookupTable:
        """The same, with the value at the lower end of its cell for each level."""
        levels = self._table.levels
        ends = RawRows(np.arange(len(levels) + 1), levels.dims[levels.order], levels.search.bounds, levels.n_dims)
        table = np.empty_like(self._table.table)
        table[levels.order] = self._table(ends)
        return replace(self._table, table=table)

    def _squares(self, query: Rows, *, quantised: bool = False) -> Floats:
        """What of |k_*|^2 each dimension adds by itself: a lower bound of it, as kernel values are sums of these."""
        operator = self._histograms
        table = self._lowest if quantised and not isinstance(query, CodedRows) else self._table
        squares = table(query, quantised=quantised)[:, 0] * operator.factors_of(query) ** 2
        return np.asarray(squares + len(operator) * operator.constant**2)

    def __call__(self, query: Rows, method: BoundName) -> Floats:
        """The bound of the latent variance of each row."""
        own = self._operator.diagonal(query)
        if not len(self._mu):
            return own
        match method:
            case "rapu" | "qrapu":
                explained = self._squares(query, quantised=method == "qrapu") / self._mu[0]
            case "fapu":
                explained = self._explained(query, by_blocks(self._norms, query))
            case "qfapu":
                has_squares = isinstance(self._operator, HistogramOperator)
                explained = self._explained(query, self._squares(query) if has_squares else np.zeros(len(own)))
        return np.asarray(np.maximum(own - explained, 0.0))

    def _norms(self, query: Rows) -> Floats:
        """|k_*|^2 of each row."""
        cross = np.ascontiguousarray(self._operator.cross(query).T)  # the same sums, however many rows there are
        norms: Floats = np.einsum("bn,bn->b", cross, cross)
        return norms

    def _explained(self, query: Rows, norms: Floats) -> Floats:
        shares = self._projections(query) ** 2
        rest = np.maximum(norms - shares.sum(axis=1), 0.0) / self._mu[-1]
        explained: Floats = (shares / self._mu[: self.k]).sum(axis=1) + rest
        return explained


class LastBounds:
    """The bounds of the last state of a posterior that somebody asked for: eigenpairs are found anew after a change."""

    def __init__(self) -> None:
        self._known: tuple[int, Predictor, VarianceBounds] | None = None

    def of(self, posterior: Posterior, k: int = EIGENPAIRS) -> VarianceBounds:
        """Of a posterior as it is, which makes a new predictor after each change."""
        known, state = self._known, posterior.predictor
        if known is not None and known[0] == k and known[1] is state:
            return known[2]
        bounds = VarianceBounds(posterior.operator, posterior.noise, k)
        self._known = k, state, bounds
        return bounds


def variances_of(operator: Operator) -> tuple[VarianceName, ...]:
    """Which variances there are for a kernel."""
    general: tuple[VarianceName, ...] = ("exact", "fapu", "qfapu")
    return (*general, "rapu", "qrapu") if isinstance(operator, HistogramOperator) else general


def variance_by(posterior: Posterior, bounds: LastBounds, name: VarianceName) -> Variances:
    """The variance of a posterior as a function of rows, or an upper bound; it is valid until the posterior changes."""
    return posterior.variance if name == "exact" else bounds.of(posterior).by(name)


@dataclass(frozen=True, eq=False)
class PriorVariance:
    """k(x, x) of each row less the bias: the variance of what it has in common with some rows only.

    Labels soon tell the bias, which all rows have in common.
    """

    operator: Operator  # whose rows do not matter

    def for_items(self) -> "PriorVariance":
        """The same with only what has to be sent to workers."""
        return PriorVariance(self.operator.only(no_rows()))

    def __call__(self, rows: Rows) -> Floats:
        """Of each row."""
        return np.asarray(np.maximum(self.operator.diagonal(rows) - self.operator.kernel.bias, 0.0))
