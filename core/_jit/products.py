"""Scatter, table, gather: the three passes of a kernel product (core/DESIGN.md, section 2)."""

from typing import NamedTuple

from numba import types

from core._jit.coding import LEVELS, Levels
from core._jit.compile import (
    BLOCK,
    DIMS,
    INDEX,
    INDICES,
    NARROW,
    OUTSIDE,
    VECTOR,
    WIDE,
    check_codes,
    check_index,
    check_order,
    check_slice,
    check_starts,
    kernel,
)
from core._types import Codes, Dims, Floats, Indices

_CODED = [(codes, INDICES) for codes in (NARROW, WIDE)]


@kernel(*((*coded, BLOCK, BLOCK, INDEX, INDEX) for coded in _CODED))
def scatter(codes: Codes, starts: Indices, v: Floats, out: Floats, lo: int, hi: int) -> None:
    """out[code, :] += v[row, :] over all codes of rows lo to hi."""
    columns = v.shape[1]
    check_slice(lo, hi, v.shape[0])
    check_slice(0, columns, out.shape[1])
    check_starts(starts, lo, hi, codes.size)
    check_codes(codes, starts[lo], starts[hi], out.shape[0])
    for i in range(lo, hi):
        for k in range(starts[i], starts[i + 1]):
            c = codes[k]
            for m in range(columns):
                out[c, m] += v[i, m]


@kernel(*((*coded, BLOCK, BLOCK, INDEX, INDEX) for coded in _CODED))
def gather(codes: Codes, starts: Indices, table: Floats, out: Floats, lo: int, hi: int) -> None:
    """out[row, :] = sum of table[code, :] over the codes of rows lo to hi.

    Four codes at a time, so that the sums are loaded and stored less often: up to twice as fast.
    """
    n_levels, columns = table.shape
    check_slice(lo, hi, out.shape[0])
    check_slice(0, columns, out.shape[1])
    check_starts(starts, lo, hi, codes.size)
    for i in range(lo, hi):
        for m in range(columns):
            out[i, m] = 0.0
        tail = starts[i + 1] - (starts[i + 1] - starts[i]) % 4
        for k in range(starts[i], tail, 4):
            a, b, c, d = codes[k], codes[k + 1], codes[k + 2], codes[k + 3]
            if max(a, b, c, d) >= n_levels:
                raise IndexError(OUTSIDE)
            for m in range(columns):
                out[i, m] += (table[a, m] + table[b, m]) + (table[c, m] + table[d, m])
        for k in range(tail, starts[i + 1]):
            a = codes[k]
            if a >= n_levels:
                raise IndexError(OUTSIDE)
            for m in range(columns):
                out[i, m] += table[a, m]


@kernel(*((*coded, VECTOR, VECTOR, INDEX, INDEX) for coded in _CODED))
def gather_column(codes: Codes, starts: Indices, table: Floats, out: Floats, lo: int, hi: int) -> None:
    """Gather for a single column, where one accumulator in a register is four times as fast."""
    check_slice(lo, hi, out.size)
    check_starts(starts, lo, hi, codes.size)
    for i in range(lo, hi):
        total = 0.0
        for k in range(starts[i], starts[i + 1]):
            c = codes[k]
            if c >= table.size:
                raise IndexError(OUTSIDE)
            total += table[c]
        out[i] = total


@kernel(*((*coded, BLOCK, BLOCK, INDEX, INDEX) for coded in _CODED))
def gather_pair(codes: Codes, starts: Indices, table: Floats, out: Floats, lo: int, hi: int) -> None:
    """Gather for two columns, likewise."""
    n_levels = table.shape[0]
    check_slice(lo, hi, out.shape[0])
    check_slice(0, 2, min(table.shape[1], out.shape[1]))
    check_starts(starts, lo, hi, codes.size)
    for i in range(lo, hi):
        first = 0.0
        second = 0.0
        for k in range(starts[i], starts[i + 1]):
            c = codes[k]
            if c >= n_levels:
                raise IndexError(OUTSIDE)
            first += table[c, 0]
            second += table[c, 1]
        out[i, 0] = first
        out[i, 1] = second


@kernel((INDICES, INDICES, VECTOR, BLOCK, BLOCK))
def table(order: Indices, start: Indices, u: Floats, w: Floats, out: Floats) -> None:
    """out[s] = sum over levels s' <= s of u_s' w_s', plus u_s times the sum of w above s; per dimension.

    Two passes without a difference, so that levels of very different size do not cancel.
    """
    columns = w.shape[1]
    check_order(order, start, min(u.size, w.shape[0], out.shape[0]))
    check_slice(0, columns, out.shape[1])
    for d in range(start.size - 1):
        for p in range(start[d + 1] - 1, start[d] - 1, -1):
            s = order[p]
            for m in range(columns):
                out[s, m] = 0.0
            if p + 1 < start[d + 1]:
                above = order[p + 1]
                for m in range(columns):
                    out[s, m] = out[above, m] + w[above, m]
        for m in range(columns):
            below = 0.0
            for p in range(start[d], start[d + 1]):
                s = order[p]
                below += u[s] * w[s, m]
                out[s, m] = below + u[s] * out[s, m]


class Located(NamedTuple):
    """Raw rows with the nearest level of each entry."""

    starts: Indices  # n + 1
    dims: Dims  # nnz
    values: Floats  # nnz
    u: Floats  # nnz
    positions: Indices  # nnz, in sorted order; -1 for zero


LOCATED = types.NamedTuple([INDICES, DIMS, VECTOR, VECTOR, INDICES], Located)  # type: ignore[no-untyped-call]


@kernel((LOCATED, LEVELS, BLOCK, BLOCK, INDEX, INDEX))
def interpolate(rows: Located, levels: Levels, table: Floats, out: Floats, lo: int, hi: int) -> None:
    """Gather for raw rows: the table is linear in u between levels, zero at zero, constant above the top level."""
    columns = table.shape[1]
    check_slice(lo, hi, out.shape[0])
    check_slice(0, columns, out.shape[1])
    check_starts(rows.starts, lo, hi, min(rows.dims.size, rows.values.size, rows.u.size, rows.positions.size))
    check_order(levels.order, levels.start, table.shape[0])
    check_slice(0, levels.order.size, min(levels.values.size, levels.u.size))
    for i in range(lo, hi):
        for m in range(columns):
            out[i, m] = 0.0
        for k in range(rows.starts[i], rows.starts[i + 1]):
            d = rows.dims[k]
            check_index(d, levels.start.size - 1)
            first = levels.start[d]
            end = levels.start[d + 1]
            p = max(rows.positions[k], first - 1)
            if p >= end:
                raise IndexError(OUTSIDE)
            if p >= first and levels.values[p] > rows.values[k]:
                p -= 1
            t = 0.0  # how far between the levels p and p + 1
            if p + 1 < end:
                below = levels.u[p] if p >= first else 0.0
                gap = levels.u[p + 1] - below
                if gap > 0.0:
                    t = (rows.u[k] - below) / gap
                above = levels.order[p + 1]
                for m in range(columns):
                    out[i, m] += t * table[above, m]
            if p >= first:
                s = levels.order[p]
                for m in range(columns):
                    out[i, m] += (1.0 - t) * table[s, m]


@kernel((INDICES, INDICES, INDICES, BLOCK, BLOCK, INDEX, INDEX))
def gather_nearest(
    starts: Indices, positions: Indices, order: Indices, table: Floats, out: Floats, lo: int, hi: int
) -> None:
    """Gather for raw rows with every value rounded to its nearest level: constant time a non-zero."""
    check_slice(lo, hi, out.shape[0])
    check_slice(0, table.shape[1], out.shape[1])
    check_starts(starts, lo, hi, positions.size)
    for i in range(lo, hi):
        for m in range(table.shape[1]):
            out[i, m] = 0.0
        for k in range(starts[i], starts[i + 1]):
            p = positions[k]
            if p >= 0:
                check_index(p, order.size)
                s = order[p]
                check_index(s, table.shape[0])
                for m in range(table.shape[1]):
                    out[i, m] += table[s, m]
