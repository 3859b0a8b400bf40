"""Upper bounds of the predictive variance (Freytag2012, section 4): the coarser, the cheaper."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from core._jit import products
from core._types import Dims, Floats
from core.histograms import CodedRows, RawRows
from core.kernels import IntersectionKernel
from core.linalg import HistogramOperator, LookupTable, largest_eigenpairs
from core.linalg.products import scatter
from core.posterior.base import by_blocks
from core.rows import Rows

BoundName = Literal["fapu", "qfapu", "rapu", "qrapu"]


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
    with that sum; `qrapu` reads the sum at the lower end of a value's cell, one look-up a non-zero.
    """

    def __init__(self, operator: HistogramOperator, noise: Floats, k: int) -> None:
        n = len(operator)
        self.k = min(k, max(n - 1, 0))
        self._operator = operator
        self._mu, vectors = largest_eigenpairs(
            lambda v: operator.product(v) + noise[:, None] * v, n, min(self.k + 1, n)
        )
        self._projections = operator.predictor(vectors[:, : self.k])

    @cached_property
    def _squares(self) -> LookupTable:
        """x -> sum_i sum_d min(x_d, x_id)^2."""
        operator = self._operator
        u = operator.u**2
        sums = scatter(operator.rows.codes, operator.rows.starts, np.ones((len(operator), 1)), len(u))
        table = np.empty_like(sums)
        products.table(operator.levels.order, operator.levels.start, u, sums, table)
        return LookupTable(operator.levels, _Squared(operator.kernel), u, table)

    @cached_property
    def _lowest_squares(self) -> LookupTable:
        """The same, with the value at the lower end of its cell for each level."""
        levels = self._squares.levels
        ends = RawRows(np.arange(len(levels) + 1), levels.dims[levels.order], levels.search.bounds, levels.n_dims)
        table = np.empty_like(self._squares.table)
        table[levels.order] = self._squares(ends)
        return replace(self._squares, table=table)

    def __call__(self, query: Rows, method: BoundName) -> Floats:
        """The bound of the latent variance of each row."""
        own = self._operator.diagonal(query)
        if not len(self._mu):
            return own
        match method:
            case "rapu":
                explained = self._squares(query)[:, 0] / self._mu[0]
            case "qrapu":
                squares = self._squares if isinstance(query, CodedRows) else self._lowest_squares
                explained = squares(query, quantised=True)[:, 0] / self._mu[0]
            case "fapu":
                explained = self._explained(query, by_blocks(self._norms, query))
            case "qfapu":
                explained = self._explained(query, self._squares(query)[:, 0])
        return np.asarray(np.maximum(own - explained, 0.0))

    def _norms(self, query: Rows) -> Floats:
        """|k_*|^2 of each row."""
        cross = self._operator.cross(query)
        norms: Floats = np.einsum("nb,nb->b", cross, cross)
        return norms

    def _explained(self, query: Rows, norms: Floats) -> Floats:
        shares = self._projections(query) ** 2
        rest = np.maximum(norms - shares.sum(axis=1), 0.0) / self._mu[-1]
        explained: Floats = (shares / self._mu[: self.k]).sum(axis=1) + rest
        return explained
