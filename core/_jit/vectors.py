"""Dense rows of a pool, of single or double precision; all sums are in double."""

import math
from typing import Any

from numba import types
from numpy.typing import NDArray

from core._jit.compile import BLOCK, INDEX, OUTSIDE, VECTOR, check_slice, kernel
from core._types import Floats

SINGLE = types.Array(types.float32, 2, "C")
TILE = 2048  # items whose sums stay in the innermost cache


@kernel(*((rows, VECTOR, VECTOR, INDEX, INDEX) for rows in (SINGLE, BLOCK)))
def dot(rows: NDArray[Any], w: Floats, out: Floats, lo: int, hi: int) -> None:
    """out[i] = rows[i] . w for rows lo to hi."""
    check_slice(lo, hi, min(rows.shape[0], out.size))
    check_slice(0, rows.shape[1], w.size)
    for i in range(lo, hi):
        total = 0.0
        for d in range(rows.shape[1]):
            total += rows[i, d] * w[d]
        out[i] = total


@kernel(*((rows, BLOCK, VECTOR, BLOCK, INDEX, INDEX) for rows in (SINGLE, BLOCK)))
def bells(rows: NDArray[Any], x: Floats, scales: Floats, out: Floats, lo: int, hi: int) -> None:
    """out[j, i] = exp(-sum_d scales_d (rows[i, d] - x[j, d])^2) for rows lo to hi.

    Differences are taken before they are squared, so that nothing cancels.
    """
    check_slice(lo, hi, min(rows.shape[0], out.shape[1]))
    check_slice(0, x.shape[0], out.shape[0])
    check_slice(0, rows.shape[1], min(x.shape[1], scales.size))
    for i in range(lo, hi):
        for j in range(x.shape[0]):
            total = 0.0
            for d in range(rows.shape[1]):
                off = rows[i, d] - x[j, d]
                total += scales[d] * off * off
            out[j, i] = math.exp(-total)


@kernel((BLOCK, BLOCK, BLOCK, INDEX, INDEX))
def add_columns(columns: Floats, factors: Floats, out: Floats, lo: int, hi: int) -> None:
    """out[m, i] += sum_j factors[m, j] columns[j, i] for items lo to hi.

    Eight columns at a time (their number is a multiple of that), so that memory is what limits it.
    """
    check_slice(lo, hi, min(columns.shape[1], out.shape[1]))
    check_slice(0, factors.shape[1], columns.shape[0])
    check_slice(0, factors.shape[0], out.shape[0])
    if factors.shape[1] % 8:
        raise IndexError(OUTSIDE)
    for first in range(lo, hi, TILE):
        last = min(first + TILE, hi)
        for m in range(factors.shape[0]):
            sums = out[m, first:last]
            for j in range(0, factors.shape[1], 8):
                p, q, r, s = factors[m, j], factors[m, j + 1], factors[m, j + 2], factors[m, j + 3]
                t, u, v, w = factors[m, j + 4], factors[m, j + 5], factors[m, j + 6], factors[m, j + 7]
                part = columns[j : j + 8, first:last]
                a, b, c, d, e, f, g, h = part[0], part[1], part[2], part[3], part[4], part[5], part[6], part[7]
                for i in range(last - first):
                    left = (p * a[i] + q * b[i]) + (r * c[i] + s * d[i])
                    sums[i] += left + ((t * e[i] + u * f[i]) + (v * g[i] + w * h[i]))
