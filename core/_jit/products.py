"""Scatter, table, gather: the three passes of a kernel product (design, section 2)."""

from core._jit.compile import BLOCK, DIMS, INDEX, INDICES, NARROW, VECTOR, WIDE, kernel
from core._types import Codes, Dims, Floats, Indices

_CODED = [(codes, INDICES) for codes in (NARROW, WIDE)]


@kernel(*((*coded, BLOCK, BLOCK, INDEX, INDEX) for coded in _CODED))
def scatter(codes: Codes, starts: Indices, v: Floats, out: Floats, lo: int, hi: int) -> None:
    """out[code, :] += v[row, :] over all codes of all rows, for columns lo to hi (a thread owns its columns)."""
    for i in range(starts.size - 1):
        for k in range(starts[i], starts[i + 1]):
            c = codes[k]
            for m in range(lo, hi):
                out[c, m] += v[i, m]


@kernel(*((*coded, BLOCK, BLOCK, INDEX, INDEX) for coded in _CODED))
def gather(codes: Codes, starts: Indices, table: Floats, out: Floats, lo: int, hi: int) -> None:
    """out[row, :] = sum of table[code, :] over the codes of rows lo to hi."""
    for i in range(lo, hi):
        for m in range(table.shape[1]):
            out[i, m] = 0.0
        for k in range(starts[i], starts[i + 1]):
            c = codes[k]
            for m in range(table.shape[1]):
                out[i, m] += table[c, m]


@kernel(*((*coded, VECTOR, VECTOR, INDEX, INDEX) for coded in _CODED))
def gather_column(codes: Codes, starts: Indices, table: Floats, out: Floats, lo: int, hi: int) -> None:
    """Gather for a single column, where one accumulator in a register is four times as fast."""
    for i in range(lo, hi):
        total = 0.0
        for k in range(starts[i], starts[i + 1]):
            total += table[codes[k]]
        out[i] = total


@kernel((INDICES, INDICES, VECTOR, BLOCK, BLOCK))
def table(order: Indices, start: Indices, u: Floats, w: Floats, out: Floats) -> None:
    """out[s] = sum over levels s' <= s of u_s' w_s', plus u_s times the sum of w above s; per dimension.

    Two passes without a difference, so that levels of very different size do not cancel.
    """
    columns = w.shape[1]
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


@kernel((INDICES, DIMS, VECTOR, VECTOR, INDICES, INDICES, INDICES, VECTOR, VECTOR, BLOCK, BLOCK, INDEX, INDEX))
def interpolate(
    starts: Indices,
    dims: Dims,
    values: Floats,
    u: Floats,
    positions: Indices,
    level_start: Indices,
    order: Indices,
    level_values: Floats,
    level_u: Floats,
    table: Floats,
    out: Floats,
    lo: int,
    hi: int,
) -> None:
    """Gather for raw rows: the table is linear in u between levels, zero at zero, constant above the top level.

    `positions` are the nearest levels; `level_values` and `level_u` are in sorted order, `table` is by level id.
    """
    columns = table.shape[1]
    for i in range(lo, hi):
        for m in range(columns):
            out[i, m] = 0.0
        for k in range(starts[i], starts[i + 1]):
            d = dims[k]
            first = level_start[d]
            if first == level_start[d + 1]:
                continue
            p = max(positions[k], first - 1)
            if p >= first and level_values[p] > values[k]:
                p -= 1
            below = level_u[p] if p >= first else 0.0
            if p + 1 < level_start[d + 1]:
                gap = level_u[p + 1] - below
                t = (u[k] - below) / gap if gap > 0.0 else 0.0
                above = order[p + 1]
                for m in range(columns):
                    out[i, m] += t * table[above, m]
            else:
                t = 0.0
            if p >= first:
                s = order[p]
                for m in range(columns):
                    out[i, m] += (1.0 - t) * table[s, m]


@kernel((INDICES, INDICES, INDICES, BLOCK, BLOCK, INDEX, INDEX))
def gather_nearest(
    starts: Indices, positions: Indices, order: Indices, table: Floats, out: Floats, lo: int, hi: int
) -> None:
    """Gather for raw rows with every value taken to its nearest level: constant time a non-zero."""
    for i in range(lo, hi):
        for m in range(table.shape[1]):
            out[i, m] = 0.0
        for k in range(starts[i], starts[i + 1]):
            p = positions[k]
            if p >= 0:
                s = order[p]
                for m in range(table.shape[1]):
                    out[i, m] += table[s, m]
