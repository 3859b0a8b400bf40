"""The normalised intersection kernel matrix: that of h, with a factor for each row on both sides."""

from dataclasses import dataclass

import numpy as np

from core._types import Floats, Indices
from core.histograms import CodedRows, Histograms
from core.kernels import IntersectionKernel, NormalisedIntersectionKernel
from core.linalg.histogram_operator import CodedTable, HistogramOperator, LookupTable
from core.linalg.operator import check_rows_finite
from core.linalg.products import scatter
from core.rows import Rows, histogram_rows


@dataclass(frozen=True, eq=False)
class NormalisedTable:
    """x -> h(x, X) V sqrt(amplitude / h(x, x)) + constant, by one gather.

    The last column of the look-up table is u, which adds up to h(x, x): no factor of an item is ever stored.
    """

    lookup: LookupTable | CodedTable  # of M + 1 columns
    amplitude: float
    constant: Floats  # M

    def __call__(self, query: Rows, *, quantised: bool = False) -> Floats:
        sums, rows = self.lookup(query, quantised=quantised), histogram_rows(query)
        own = sums[:, -1]
        if isinstance(self.lookup, LookupTable) and not (quantised or isinstance(rows, CodedRows)):
            # Values above the top level count for no more in h(x, X), but do in h(x, x).
            own = np.add.reduceat(self.lookup.kernel.apply(rows.values, rows.dims), rows.starts[:-1])
        return np.asarray(sums[:, :-1] * _scale(self.amplitude, own)[:, None] + self.constant)

    def for_items(self, by: Floats | None = None) -> "NormalisedTable":
        if by is None:
            return NormalisedTable(self.lookup.for_items(), self.amplitude, self.constant)
        table = self.lookup.table
        mixed = np.column_stack([table[:, :-1] @ by, table[:, -1]])
        return NormalisedTable(CodedTable(mixed), self.amplitude, self.constant @ by)


class NormalisedOperator(HistogramOperator):
    """K = R H R + bias, with H of the intersections h(x, x') and R = diag(sqrt(amplitude / h(x, x))).

    A row without entries has no factor: its kernel is the bias alone.
    """

    kernel: NormalisedIntersectionKernel
    in_level_space = False
    _factors: Floats | None = None

    @property
    def factors(self) -> Floats:
        """The diagonal of R, n."""
        if self._factors is None or len(self._factors) != len(self):
            self._factors = self.factors_of(self.rows)
        return self._factors

    def product(self, v: Floats) -> Floats:
        factors = self.factors[:, None]
        return np.asarray(factors * super().product(factors * v) + self.kernel.bias * v.sum(axis=0))

    def predictor(self, v: Floats) -> NormalisedTable:
        return self._lookup(self._table(self.factors[:, None] * v), self.kernel.bias * v.sum(axis=0))

    def difference(self, query: Rows, beta: Floats) -> NormalisedTable:
        table = self.profile(query) * self.factors_of(query) - self._table(self.factors[:, None] * beta)
        return self._lookup(table, self.kernel.bias * (1.0 - beta.sum(axis=0)))

    def cross(self, query: Rows, first: int = 0) -> Floats:
        inner = super().cross(query, first)
        inner *= self.factors[first:, None]
        inner *= self.factors_of(query)
        inner += self.kernel.bias
        return inner

    def diagonal(self, query: Rows) -> Floats:
        own = super().diagonal(query)
        return np.where(own > 0.0, self.kernel.amplitude, 0.0) + self.kernel.bias

    def pull_back(self, e: Floats, f: Floats) -> Floats:
        kernel, factors, levels = self.kernel, self.factors[:, None], self.levels
        by_inner = super().pull_back(factors * e, factors * f)
        unbiased = [self.product(v) - kernel.bias * v.sum(axis=0) for v in (e, f)]
        # d k_ij = r_i r_j d h_ij - (d h_ii / h_ii + d h_jj / h_jj) (k_ij - bias) / 2
        halves = np.einsum("nm,nm->n", e, unbiased[1]) + np.einsum("nm,nm->n", f, unbiased[0])
        by_own = -halves * self.factors**2 / (2.0 * kernel.amplitude)
        by_u = scatter(self.rows.codes, self.rows.starts, by_own[:, None], len(levels))[:, 0]
        by_own_theta = kernel.pull_back(levels.values, levels.dims, by_u)
        by_bias = np.vdot(e.sum(axis=0), f.sum(axis=0))
        return self._with_own(by_inner + by_own_theta, np.vdot(e, unbiased[1]), by_bias)

    def pull_back_matrix(self, gradient: Floats) -> Floats:
        factors = self.factors
        unbiased = self.cross(self.rows) - self.kernel.bias
        both = gradient * unbiased
        inner = gradient * factors[:, None] * factors
        np.einsum("ii->i", inner)[:] -= both.sum(axis=1) * factors**2 / self.kernel.amplitude
        return self._with_own(super().pull_back_matrix(inner), both.sum(), gradient.sum())

    def check(self, query: Rows) -> None:
        with np.errstate(over="ignore"):
            check_rows_finite(super().diagonal(query))

    def remove(self, rows: Indices) -> None:
        super().remove(rows)
        self._factors = None

    @property
    def constant(self) -> float:
        return self.kernel.bias

    def factors_of(self, query: Rows) -> Floats:
        return _scale(self.kernel.amplitude, super().diagonal(query))

    def _lookup(self, table: Floats, constant: Floats) -> NormalisedTable:
        return NormalisedTable(self.lookup(np.column_stack([table, self.u])), self.kernel.amplitude, constant)

    def _with_own(self, theta: Floats, by_amplitude: float, by_bias: float) -> Floats:
        """The gradient with the entries of amplitude and bias; `by_amplitude` is that by its logarithm."""
        by = dict(zip(self.kernel.names, theta, strict=True))
        return np.array(list((by | {"amplitude": by_amplitude / self.kernel.amplitude, "bias": by_bias}).values()))


def histogram_operator(histograms: Histograms, kernel: IntersectionKernel) -> HistogramOperator:
    """The operator of these rows under a kernel, normalised or not."""
    kind = NormalisedOperator if isinstance(kernel, NormalisedIntersectionKernel) else HistogramOperator
    return kind(histograms, kernel)


def _scale(amplitude: float, own: Floats) -> Floats:
    """sqrt(amplitude / h(x, x)) of rows, or 0 where h(x, x) is 0."""
    return np.sqrt(np.divide(amplitude, own, out=np.zeros_like(own), where=own > 0.0))
