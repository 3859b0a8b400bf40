"""From raw values to positions in the sorted level table."""

from typing import NamedTuple

from numba import types

from core._jit.compile import (
    BLOCK,
    DIMS,
    INDEX,
    INDICES,
    OUTSIDE,
    VECTOR,
    check_index,
    check_order,
    check_slice,
    check_starts,
    inline,
    kernel,
)
from core._types import Dims, Floats, Indices


class Search(NamedTuple):
    """What finds the nearest level of a value in constant time.

    `bounds[p]` is the value from which on position p is nearest (half way up from the level below, or from zero).
    Each dimension is cut into `grid_start[d + 1] - grid_start[d] - 1` equal cells; `grid` tells how many positions
    (counted over all dimensions) have bounds in earlier cells, so only the bounds inside one cell are left to compare.
    """

    start: Indices
    bounds: Floats
    grid_start: Indices
    grid: Indices
    scale: Floats


SEARCH = types.NamedTuple([INDICES, VECTOR, INDICES, INDICES, VECTOR], Search)  # type: ignore[no-untyped-call]


class Levels(NamedTuple):
    """Levels in sorted order, with what a kernel makes of them."""

    start: Indices  # D + 1
    order: Indices  # S, level ids
    values: Floats  # S
    u: Floats  # S


LEVELS = types.NamedTuple([INDICES, INDICES, VECTOR, VECTOR], Levels)  # type: ignore[no-untyped-call]


@inline
def cell_of(value: float, scale: float, cells: int) -> int:
    # Monotone in value, so a bound in an earlier cell is smaller than any value in a later one, rounding or not.
    scaled = float(value) * float(scale)  # Python floats overflow silently when the JIT is off
    if not scaled < cells:
        return cells - 1
    return int(scaled) if scaled > 0.0 else 0


@kernel((DIMS, VECTOR, INDICES, VECTOR, INDICES))
def fill_grid(dims: Dims, bounds: Floats, grid_start: Indices, scale: Floats, grid: Indices) -> None:
    """Count the bounds (one per position, its dimension in `dims`) in each cell; cumulate into `grid`."""
    check_slice(0, bounds.size, dims.size)
    check_starts(grid_start, 0, grid_start.size - 1, grid.size)
    check_slice(0, grid_start.size - 1, scale.size)
    for p in range(bounds.size):
        d = dims[p]
        check_index(d, grid_start.size - 1)
        if grid_start[d + 1] - grid_start[d] < 2:
            raise IndexError(OUTSIDE)  # a dimension with bounds has cells
        cell = cell_of(bounds[p], scale[d], grid_start[d + 1] - grid_start[d] - 1)
        grid[grid_start[d] + cell + 1] += 1
    for g in range(1, grid.size):
        grid[g] += grid[g - 1]


@kernel((DIMS, VECTOR, SEARCH, INDICES, INDEX, INDEX))
def nearest(dims: Dims, values: Floats, search: Search, positions: Indices, lo: int, hi: int) -> None:
    """Position of the level nearest to each value, -1 where that is zero; entries lo to hi."""
    check_slice(lo, hi, min(dims.size, values.size, positions.size))
    n_dims = min(search.grid_start.size - 1, search.start.size, search.scale.size)
    for k in range(lo, hi):
        d = dims[k]
        check_index(d, n_dims)
        value = values[k]
        first = search.grid_start[d]
        cells = search.grid_start[d + 1] - first - 1
        if cells < 1:
            positions[k] = -1
            continue
        g = first + cell_of(value, search.scale[d], cells)
        check_index(g, search.grid.size - 1)
        a = search.grid[g]
        b = search.grid[g + 1]
        if a < 0 or b > search.bounds.size:
            raise IndexError(OUTSIDE)
        while a < b:
            middle = (a + b) >> 1
            if search.bounds[middle] <= value:
                a = middle + 1
            else:
                b = middle
        positions[k] = a - 1 if a > search.start[d] else -1


@kernel((INDICES, DIMS, VECTOR, LEVELS, BLOCK, INDEX, INDEX))
def profile(starts: Indices, dims: Dims, u: Floats, levels: Levels, out: Floats, lo: int, hi: int) -> None:
    """Kernel of rows lo to hi with each level: out[level, row - lo] = min(u of the row, u of the level)."""
    check_slice(0, hi - lo, out.shape[1])
    check_starts(starts, lo, hi, min(dims.size, u.size))
    check_order(levels.order, levels.start, out.shape[0])
    check_slice(0, levels.order.size, levels.u.size)
    for i in range(lo, hi):
        for k in range(starts[i], starts[i + 1]):
            d = dims[k]
            check_index(d, levels.start.size - 1)
            for p in range(levels.start[d], levels.start[d + 1]):
                out[levels.order[p], i - lo] = min(u[k], levels.u[p])
