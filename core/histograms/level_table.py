"""The level table: the distinct values of each dimension, with ids that never change."""

import uuid
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from core._jit import coding
from core._jit.coding import Search
from core._parallel import over_slices
from core._types import Codes, Dims, Floats, Indices
from core.histograms.coded import CodedRows, code_type
from core.histograms.raw import RawRows


@dataclass(frozen=True)
class Room:
    """How many levels a table may have: `limit` per dimension, and `total` in all except the first `least` of each."""

    limit: int | None = None
    total: int | None = None
    least: int = 0

    def has_room(self, held: Indices, size: int) -> NDArray[np.bool_]:
        """Which new levels fit: `held` are the levels of its dimension before each, `size` those of the table."""
        fits = np.ones(len(held), dtype=bool)
        if self.limit is not None:
            fits &= held < self.limit
        if self.total is not None:
            fits &= (held < self.least) | (size + np.cumsum(fits) <= self.total)
        return fits


@dataclass(frozen=True, eq=False)
class LevelTable:
    """Levels by id, and their ids in sorted order. S levels, D dimensions. Insertion gives a new table.

    >>> table = LevelTable.of([np.array([0.5, 1.0]), np.array([3.0])])
    >>> bigger = table.insert(np.array([0]), np.array([0.75]))
    >>> bigger.values.tolist(), bigger.order.tolist()
    ([0.5, 1.0, 3.0, 0.75], [0, 3, 1, 2])
    """

    values: Floats  # S, by id
    dims: Dims  # S, by id
    order: Indices  # S, ids sorted by dimension, then value
    start: Indices  # D + 1: dimension d has positions start[d] to start[d + 1] of `order`
    room: Room = Room()
    lineage: str = ""  # id that insertion keeps: codes mean the same in all tables that have it

    @classmethod
    def of(cls, levels: list[Floats], room: Room | None = None, dims: list[int] | None = None) -> "LevelTable":
        """From the ascending positive levels of each dimension; ids start in sorted order.

        Or of these `dims`, ascending up to the last of all: the others have no levels, and cost no time.
        """
        places = np.arange(len(levels)) if dims is None else np.array(dims)
        lengths = np.zeros(places[-1] + 1 if len(places) else 0, dtype=np.int64)
        lengths[places] = [len(values) for values in levels]
        start = np.concatenate(([0], np.cumsum(lengths)))
        by_id = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
        values = np.concatenate([np.empty(0), *levels])
        return cls(values, by_id, np.arange(start[-1]), start, room or Room(), uuid.uuid4().hex)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def n_dims(self) -> int:
        return len(self.start) - 1

    @cached_property
    def sorted_values(self) -> Floats:
        return self.values[self.order]

    @cached_property
    def rank(self) -> Indices:
        """Position in sorted order, by id."""
        rank = np.empty_like(self.order)
        rank[self.order] = np.arange(len(self))
        return rank

    def sorted_positions(self, rows: CodedRows) -> Codes:
        """The codes of these rows as positions in sorted order, in a type that is as wide as the table needs now."""
        if np.array_equal(self.order, np.arange(len(self))):  # until a level is inserted
            return rows.codes
        return self.rank.astype(code_type(len(self)))[rows.codes]

    @cached_property
    def search(self) -> Search:
        """Two cells a level: half a bound a cell on average, whatever the number of levels."""
        cells = 2 * np.diff(self.start)
        grid_start = np.concatenate(([0], np.cumsum(cells + 1)))
        below = np.concatenate(([0.0], self.sorted_values[:-1]))[: len(self)]
        below[self.start[:-1][cells > 0]] = 0.0
        # Half way between neighbouring floats may round down to the lower one, which must keep its own level.
        bounds = np.maximum(below / 2 + self.sorted_values / 2, np.nextafter(below, np.inf))
        top = np.zeros(self.n_dims)
        top[cells > 0] = bounds[self.start[1:][cells > 0] - 1]
        with np.errstate(over="ignore"):
            scale = cells / np.where(top > 0, top, 1.0)
        scale[~np.isfinite(scale)] = 0.0  # values below the normal range: one cell for all
        grid = np.zeros(grid_start[-1], dtype=np.int64)
        coding.fill_grid(self.dims[self.order], bounds, grid_start, scale, grid)
        return Search(self.start, bounds, grid_start, grid, scale)

    def nearest(self, rows: RawRows) -> Indices:
        """Sorted position of the level nearest to each entry; -1 where zero is nearer."""
        search = self.search
        positions = np.empty(rows.nnz, dtype=np.int64)
        over_slices(
            lambda lo, hi: coding.nearest(rows.dims, rows.values, search, positions, lo, hi), rows.nnz, 4 * rows.nnz
        )
        return positions

    def new_values(self, rows: RawRows) -> tuple[Dims, Floats]:
        """Dimensions and values that are not yet levels and for which there is room, ascending, each once."""
        positions = self.nearest(rows)
        found = positions >= 0
        found[found] = self.sorted_values[positions[found]] == rows.values[found]
        missing = ~found
        dims, values = _each_once(rows.dims[missing], rows.values[missing])
        held = np.diff(self.start)[dims] + np.arange(len(dims)) - np.searchsorted(dims, dims)  # before each of them
        keep = self.room.has_room(held, len(self))
        return dims[keep], values[keep]

    def insert(self, dims: Dims, values: Floats) -> "LevelTable":
        """With new levels (ascending within a dimension, dimensions ascending); they get the next free ids."""
        if not len(dims):
            return self
        places = np.array(
            [
                self.start[d] + np.searchsorted(self.sorted_values[self.start[d] : self.start[d + 1]], value)
                for d, value in zip(dims, values, strict=True)
            ]
        )
        ids = len(self) + np.arange(len(dims))
        added = np.concatenate(([0], np.cumsum(np.bincount(dims, minlength=self.n_dims))))
        return replace(
            self,
            values=np.concatenate([self.values, values]),
            dims=np.concatenate([self.dims, dims.astype(np.int32)]),
            order=np.insert(self.order, places, ids),
            start=self.start + added,
        )


def _each_once(dims: Dims, values: Floats) -> tuple[Dims, Floats]:
    """Different pairs, ascending. By two sorts of numbers: one of pairs is slower, and keeps all other threads waiting.

    >>> [part.tolist() for part in _each_once(np.array([1, 0, 1, 1]), np.array([0.5, 2.0, 0.25, 0.5]))]
    [[0, 1, 1], [2.0, 0.25, 0.5]]
    """
    order = np.lexsort((values, dims))
    dims, values = dims[order], values[order]
    is_new = np.ones(len(dims), dtype=bool)
    is_new[1:] = (np.diff(dims) != 0) | (np.diff(values) != 0)
    return dims[is_new], values[is_new]
