"""Which values become levels."""

from typing import Literal

import numpy as np
import scipy.sparse as sp

from core._types import Floats, Indices, Table
from core.histograms.chunked import blocks_of, pairwise_reduced
from core.histograms.levels import LevelTable, Room

LevelRule = Literal["auto"] | int | None

AUTO_LEVELS = 8192  # S that "auto" aims at: a factor of half a gigabyte, a second or two to compute
COUNTED = 1 << 16  # distinct values of a dimension that are kept while blocks are counted
AUTO_LEAST = 4  # levels it leaves a dimension in any case

Distinct = list[tuple[Floats, Indices]]
_NOTHING = (np.empty(0), np.empty(0, dtype=np.int64))


def distinct_values(x: Table) -> Distinct:
    """Positive values and how often they occur, ascending, for each dimension; the constant one behind the data.

    Where a dimension of several blocks has more than `COUNTED` values, they are thinned out.
    """
    counted = pairwise_reduced(merged, map(_distinct, blocks_of(x)))
    return [*counted, (np.ones(1), np.array([x.shape[0]]))]


def _distinct(x: Table) -> Distinct:
    if not sp.issparse(x):
        return [np.unique(column[column > 0.0], return_counts=True) for column in np.asfortranarray(x).T]
    by_column = sp.csc_array(x)
    by_column.sum_duplicates()
    found: Distinct = [_NOTHING] * x.shape[1]
    for d in np.flatnonzero(np.diff(by_column.indptr)):
        column = by_column.data[by_column.indptr[d] : by_column.indptr[d + 1]]
        found[d] = np.unique(column[column > 0.0], return_counts=True)
    return found


def merged(a: Distinct, b: Distinct, limit: int = COUNTED) -> Distinct:
    """Values counted in two tables; where a dimension has more than `limit` of them, they are thinned out.

    >>> [(values.tolist(), counts.tolist()) for values, counts in merged(*[[(np.ones(1), np.array([2]))]] * 2)]
    [([1.0], [4])]
    """
    return [thinned(*_merge(old, more), limit) for old, more in zip(a, b, strict=True)]


def _merge(a: tuple[Floats, Indices], b: tuple[Floats, Indices]) -> tuple[Floats, Indices]:
    values, inverse = np.unique(np.concatenate([a[0], b[0]]), return_inverse=True)
    counts = np.bincount(inverse, np.concatenate([a[1], b[1]]), minlength=len(values))
    return values, counts.astype(np.int64)


def room_for(rule: LevelRule, distinct: Distinct) -> Room:
    """How many levels there may be under this rule, now and when rows are added.

    >>> room_for("auto", [(np.arange(1.0, 9.0), np.ones(8, dtype=np.int64))])
    Room(limit=None, total=8192, least=4)
    """
    if rule != "auto":
        return Room(rule)
    sizes = np.sort([len(values) for values, _ in distinct])
    if sizes.sum() <= AUTO_LEVELS:
        return Room(None, AUTO_LEVELS, AUTO_LEAST)
    # Dimensions with few values keep them all; what they leave over is shared by the others.
    left = AUTO_LEVELS - np.concatenate(([0], np.cumsum(sizes)[:-1]))
    share = left // np.arange(len(sizes), 0, -1)
    return Room(max(AUTO_LEAST, int(share[np.argmax(share < sizes)])), AUTO_LEVELS, AUTO_LEAST)


def choose_levels(values: Floats, counts: Indices, limit: int | None) -> Floats:
    """At most `limit` levels for one dimension; all of its values where they are few enough.

    Cells of equal integral of density^(1/3), the rule of least squared error for fine quantisers; each cell is
    represented by its mean.

    >>> choose_levels(np.array([1.0, 2.0, 10.0]), np.array([1, 1, 1]), 2).round(6).tolist()
    [1.5, 10.0]
    """
    return values if limit is None else thinned(values, counts, limit)[0]


def thinned(values: Floats, counts: Indices, limit: int) -> tuple[Floats, Indices]:
    """At most `limit` values that stand for all of them, and for how many each stands."""
    if len(values) <= limit:
        return values, counts
    gaps = np.diff(values, prepend=0.0)
    # Scaled to the top value: powers of gaps of any size stay finite.
    spread = np.cumsum(np.cbrt(counts * (gaps / values[-1]) ** 2))
    cell = np.minimum((spread / spread[-1] * limit).astype(np.int64), limit - 1)
    mass = np.bincount(cell, counts)
    mean = np.bincount(cell, counts * (values / values[-1])) / np.maximum(mass, 1) * values[-1]
    return _merge((mean[mass > 0], mass[mass > 0].astype(np.int64)), _NOTHING)


def levels_of(distinct: Distinct, rule: LevelRule) -> tuple[LevelTable, bool]:
    """A table for values that were counted, and whether some of them are not in it."""
    room = room_for(rule, distinct)
    levels = LevelTable.of([choose_levels(*column, room.limit) for column in distinct], room)
    return levels, len(levels) < sum(len(values) for values, _ in distinct)
