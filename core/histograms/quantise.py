"""Which values become levels."""

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from core._types import Floats, Indices, Table
from core.histograms.chunked import reduced
from core.histograms.level_table import LevelTable, Room

LevelRule = Literal["auto", "few"] | int | None

AUTO_LEVELS = 1 << 16  # S that "auto" keeps: as many as codes of 16 bits can tell apart
FEW_LEVELS = 8192  # S that "few" keeps, for level space: a factor of half a gigabyte, a second or two to compute
COUNTED = 1 << 16  # distinct values of a dimension that are kept while blocks are counted
MIN_LEVELS = 4  # that both leave a dimension in any case

Distinct = dict[int, tuple[Floats, Indices]]  # of dimensions that have any, ascending
_NOTHING = (np.empty(0), np.empty(0, dtype=np.int64))


def distinct_values(x: Table) -> Distinct:
    """Positive values and how often they occur, ascending, by dimension; the constant one behind the data.

    Where a dimension of several blocks has more than `COUNTED` values, they are thinned out. Work and memory go with
    the dimensions that have values: there may be a million others.
    """
    counted = reduced(x, _distinct, merged)
    return counted | {x.shape[1]: (np.ones(1), np.array([x.shape[0]]))}


def _distinct(x: Table) -> Distinct:
    if not sp.issparse(x):
        columns: Iterable[tuple[int, Any]] = enumerate(np.asfortranarray(x).T)
    else:
        by_column = sp.csc_array(x)
        by_column.sum_duplicates()
        starts, data = by_column.indptr, by_column.data
        columns = ((int(d), data[starts[d] : starts[d + 1]]) for d in np.flatnonzero(np.diff(starts)))
    found = ((d, np.unique(column[column > 0.0], return_counts=True)) for d, column in columns)
    return {d: (values, counts) for d, (values, counts) in found if len(values)}


def merged(a: Distinct, b: Distinct, limit: int = COUNTED) -> Distinct:
    """Values counted in two tables; where a dimension has more than `limit` of them, they are thinned out.

    >>> found = merged(*[{3: (np.ones(1), np.array([2]))}] * 2)
    >>> {d: (values.tolist(), counts.tolist()) for d, (values, counts) in found.items()}
    {3: ([1.0], [4])}
    """
    return {d: thinned(*_merge(a.get(d, _NOTHING), b.get(d, _NOTHING)), limit) for d in sorted(a.keys() | b.keys())}


def _merge(a: tuple[Floats, Indices], b: tuple[Floats, Indices]) -> tuple[Floats, Indices]:
    values, inverse = np.unique(np.concatenate([a[0], b[0]]), return_inverse=True)
    counts = np.bincount(inverse, np.concatenate([a[1], b[1]]), minlength=len(values))
    return values, counts.astype(np.int64)


def room_for(rule: LevelRule, distinct: Distinct) -> Room:
    """How many levels there may be under this rule, now and when rows are added.

    >>> room_for("auto", {0: (np.arange(1.0, 9.0), np.ones(8, dtype=np.int64))})
    Room(limit=None, total=65535, least=4)
    """
    if rule is None or isinstance(rule, int):
        return Room(rule)
    total = (AUTO_LEVELS if rule == "auto" else FEW_LEVELS) - 1  # one more is the constant
    sizes = np.sort([len(values) for values, _ in distinct.values()])
    if sizes.sum() <= total:
        return Room(None, total, MIN_LEVELS)
    # Dimensions with few values keep them all; what they leave over is shared by the others.
    left = total - np.concatenate(([0], np.cumsum(sizes)[:-1]))
    share = left // np.arange(len(sizes), 0, -1)
    return Room(max(MIN_LEVELS, int(share[np.argmax(share < sizes)])), total, MIN_LEVELS)


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
    levels = LevelTable.of([choose_levels(*column, room.limit) for column in distinct.values()], room, list(distinct))
    return levels, len(levels) < sum(len(values) for values, _ in distinct.values())
