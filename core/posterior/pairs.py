"""Variances of many rows by a table of level pairs, and when that is cheaper than row by row.

k(X, x) of a coded row x is a sum over its codes, so what the labels explain of its variance is a sum over pairs of its
codes. The table of all pairs, S x S, costs the same for any number of rows.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from core._types import Floats
from core.histograms import CodedRows, Histograms
from core.linalg import HistogramOperator
from core.posterior.base import by_blocks
from core.posterior.speed import ENTRY, GATHER, LOOKUP, SOLVE
from core.rows import Rows, Size

PAIR_ROWS = 1 << 16  # rows at a time, so that what is made of their codes stays small
MAX_MEMORY = 1.5 * 2**30  # bytes, besides what the posterior holds


@dataclass(frozen=True, eq=False)
class PairVariances:
    """Variances from a table of level pairs: sums over the pairs of a row's codes, or what these leave of k(x, x)."""

    operator: HistogramOperator  # without rows
    table: Floats  # S x S, column-major, lower triangle
    explained: bool  # whether the sums are what labels explain

    def __call__(self, query: Rows) -> Floats:
        return by_blocks(self._variance, query, PAIR_ROWS)

    def _variance(self, rows: Rows) -> Floats:
        sums = self.operator.features(rows).pair_sums(self.table)
        return np.maximum(self.operator.diagonal(rows) - sums if self.explained else sums, 0.0)


def without_rows(operator: HistogramOperator) -> HistogramOperator:
    """An operator with the same levels and kernel and no rows; later changes of the operator do not affect it."""
    return HistogramOperator(Histograms(operator.levels, CodedRows.empty(operator.levels.lineage)), operator.kernel)


class VarianceCost(NamedTuple):
    """Nanoseconds that all variances of a query take: with a solve for each row, or by a table."""

    by_row: float
    by_table: float  # infinite where there can be none


def pay_in_dual(size: Size, operator: HistogramOperator) -> bool:
    """Whether P^T (K + N)^-1 P, with the columns K(X, level) in P, is cheaper than a solve for each row."""
    return _pay(cost_in_dual(size, len(operator), len(operator.levels), operator.rows.nnz))


def pay_in_level_space(size: Size, operator: HistogramOperator) -> bool:
    """Whether A^-1, summed up along the levels, is cheaper than a solve for each row."""
    return _pay(cost_in_level_space(size, len(operator.levels)))


def cost_in_dual(size: Size, n: int, s: int, nnz: int) -> VarianceCost:
    """With n labels, which have nnz codes, over s levels."""
    table = (n**2 * s + n * s**2) * SOLVE + s**2 * ENTRY
    return _cost(size, n**2 * SOLVE + nnz * GATHER, table, 8.0 * (n * s + s**2))


def cost_in_level_space(size: Size, s: int) -> VarianceCost:
    """Over s levels."""
    return _cost(size, s**2 * SOLVE + s * ENTRY, s**3 * SOLVE + s**2 * ENTRY, 24.0 * s**2)


def _cost(size: Size, row: float, table: float, memory: float) -> VarianceCost:
    pairs = size.nnz**2 / max(size.rows, 1) / 2
    possible = size.coded and memory <= MAX_MEMORY
    return VarianceCost(row * size.rows, table + pairs * LOOKUP if possible else np.inf)


def _pay(cost: VarianceCost) -> bool:
    return cost.by_table < cost.by_row
