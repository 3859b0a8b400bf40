"""The passes of a kernel product over coded rows, in threads."""

import numpy as np

from core._jit import products
from core._parallel import GRAIN, over_cuts, over_slices
from core._types import Codes, Floats, Indices

PARTS = 4


def scatter(codes: Codes, starts: Indices, v: Floats, n_levels: int) -> Floats:
    """Sum of v (n x M) over the rows that hold each code: n_levels x M.

    >>> scatter(np.array([0, 1, 1], dtype=np.uint16), np.array([0, 2, 3]), np.array([[1.0], [2.0]]), 2).tolist()
    [[1.0], [3.0]]
    """
    v = np.ascontiguousarray(v)
    # The number of parts depends on the data only, so that the order of summation is the same on every machine.
    parts = PARTS if len(codes) > max(PARTS * GRAIN / 4, 16 * n_levels) else 1
    cuts = [len(v) * part // parts for part in range(parts + 1)]
    sums = np.zeros((parts, n_levels, v.shape[1]))
    over_cuts(
        lambda part, _: products.scatter(codes, starts, v, sums[part], cuts[part], cuts[part + 1]), range(parts + 1)
    )
    total: Floats = sums.sum(axis=0) if parts > 1 else sums[0]
    return total


def gather(codes: Codes, starts: Indices, table: Floats) -> Floats:
    """Sum of the table's rows (S x M) over the codes of each row: n x M.

    >>> gather(np.array([0, 1, 1], dtype=np.uint16), np.array([0, 2, 3]), np.array([[10.0], [1.0]])).tolist()
    [[11.0], [1.0]]
    """
    n, columns = len(starts) - 1, table.shape[1]
    out = np.empty((n, columns))
    if columns == 1:
        column, flat = table[:, 0].copy(), out[:, 0]
        over_slices(lambda lo, hi: products.gather_column(codes, starts, column, flat, lo, hi), n, len(codes) / 8)
    else:
        table, run = np.ascontiguousarray(table), products.gather_pair if columns == 2 else products.gather
        over_slices(lambda lo, hi: run(codes, starts, table, out, lo, hi), n, len(codes) * columns / 4)
    return out
