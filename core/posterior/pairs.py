"""When many variances are cheaper by a table of level pairs than row by row.

k(X, x) of a coded row x is a sum over its codes, so what the labels explain of its variance is a sum over pairs of its
codes. The table of all pairs, S x S, costs the same for any number of rows.
"""

from typing import Any, TypeGuard

from core.histograms import CodedRows
from core.linalg import HistogramOperator
from core.posterior.speed import ENTRY, GATHER, LOOKUP, SOLVE

PAIR_ROWS = 1 << 18  # rows at a time, so that what is made of their codes stays small
MAX_MEMORY = 1.5 * 2**30  # bytes, besides what the posterior holds


def pay_in_dual(query: Any, operator: HistogramOperator) -> TypeGuard[CodedRows]:
    """Whether P^T (K + N)^-1 P, with the columns K(X, level) in P, is cheaper than a solve for each row."""
    n, s = len(operator), len(operator.levels)
    row = n**2 * SOLVE + operator.rows.nnz * GATHER
    table = (n**2 * s + n * s**2) * SOLVE + s**2 * ENTRY
    return _pay(query, row, table, 8.0 * (n * s + s**2))


def pay_in_level_space(query: Any, operator: HistogramOperator) -> TypeGuard[CodedRows]:
    """Whether A^-1, summed up along the levels, is cheaper than a solve for each row."""
    s = len(operator.levels)
    return _pay(query, s**2 * SOLVE + s * ENTRY, s**3 * SOLVE + s**2 * ENTRY, 24.0 * s**2)


def _pay(query: Any, row: float, table: float, memory: float) -> bool:
    if not isinstance(query, CodedRows) or memory > MAX_MEMORY:
        return False
    pairs = query.nnz**2 / max(len(query), 1) / 2
    return table + pairs * LOOKUP < row * len(query)
