"""A pool in parts: what is known of its items, here or on other machines.

A part never changes. What happens to the pool is a function of one part, and such functions can be pickled: the pool of
a service is one part in its memory, and on a cluster each worker holds some. Parts begin at multiples of `BLOCK_ROWS`,
and what is computed of a part is computed in blocks of so many items: then nothing depends on how the pool is cut.
"""

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from core._jit import moments
from core._parallel import over_slices
from core._types import Floats, Indices, Table
from core.histograms import CodedRows, LevelTable, code_rows, raw_rows
from core.linalg import CodedTable, DensePredictor, HistogramOperator, LookupTable, Predictor
from core.posterior.base import Size, Variances, between, taken

T = TypeVar("T")

BLOCK_ROWS = 1 << 16  # items at a time
BLOCK_ENTRIES = 1 << 24  # of covariances at a time


class Block(NamedTuple):
    """Neighbouring items."""

    first: int  # number of the first
    part: "Part"


@dataclass(frozen=True, eq=False)
class Part:
    """Items with their posterior."""

    rows: Any  # as a query
    mean: Floats  # m x M
    variance: Floats  # m

    @classmethod
    def begin(cls, rows: Any) -> "Part":
        """Rows of which nothing is known yet."""
        m = Size.of(rows).rows
        return cls(rows, np.empty((m, 0)), np.empty(m))

    def __len__(self) -> int:
        return len(self.variance)

    def take(self, places: Indices) -> "Part":
        """The items at these places, in this order."""
        return Part(taken(self.rows, places), self.mean[places], self.variance[places])

    def between(self, first: int, last: int) -> "Part":
        """Neighbouring items; nothing is copied."""
        return Part(between(self.rows, first, last), self.mean[first:last], self.variance[first:last])

    def joined(self, others: "Sequence[Part]") -> "Part":
        """These items, then the others."""
        parts = [self, *others]
        return Part(
            joined_rows(self.rows, [part.rows for part in others]),
            np.concatenate([part.mean for part in parts]),
            np.concatenate([part.variance for part in parts]),
        )

    def blocks(self, first: int = 0, size: int = BLOCK_ROWS) -> Iterator[Block]:
        """Blocks of so many items, where `first` is the number of the first item."""
        for start in range(0, len(self), size):
            yield Block(first + start, self.between(start, min(len(self), start + size)))


Change = Callable[[Part], Part]


class Parts(Protocol):
    """All items of a pool. What is asked of parts comes back part by part, in their order."""

    def __len__(self) -> int: ...

    def map(self, change: Change) -> "Parts":
        """The pool after a change; this one stays as it is."""
        ...

    def collect(self, look: Callable[..., T], along: NDArray[Any] | None = None) -> list[T]:
        """look(number of the first item, part) of each part.

        `along` has an entry for each item; each part gets its stretch of it as a third argument.
        """
        ...

    def take(self, items: Indices) -> Part:
        """These items, in this order."""
        ...

    def append(self, part: Part) -> "Parts":
        """With more items at the end."""
        ...


@dataclass(frozen=True, eq=False)
class LocalParts:
    """The pool in memory, or in files that are mapped into it: one part."""

    part: Part

    @classmethod
    def of(cls, rows: Any) -> "LocalParts":
        """Rows of which nothing is known yet."""
        return cls(Part.begin(rows))

    def __len__(self) -> int:
        return len(self.part)

    def map(self, change: Change) -> "LocalParts":
        return LocalParts(change(self.part))

    def collect(self, look: Callable[..., T], along: NDArray[Any] | None = None) -> list[T]:
        return [look(0, self.part) if along is None else look(0, self.part, along)]

    def take(self, items: Indices) -> Part:
        return self.part.take(items)

    def append(self, part: Part) -> "LocalParts":
        return LocalParts(self.part.joined([part]))


@dataclass(frozen=True, eq=False)
class Coding:
    """How rows of a table become those of a part."""

    levels: LevelTable

    def __call__(self, x: Table) -> CodedRows:
        return code_rows(raw_rows(x), self.levels)


@dataclass(frozen=True, eq=False)
class Checked:
    """A look that raises a ValueError where kernel values are not finite."""

    operator: HistogramOperator  # without rows

    def __call__(self, _: int, part: Part) -> None:
        self.operator.check(part.rows)


@dataclass(frozen=True, eq=False)
class Computed:
    """A change: mean and variance from scratch."""

    means: Predictor
    variances: Variances

    def __call__(self, part: Part) -> Part:
        return Part(part.rows, self.means(part.rows), self.variances(part.rows))


@dataclass(frozen=True, eq=False)
class Retargeted:
    """A change: means from scratch."""

    means: Predictor

    def __call__(self, part: Part) -> Part:
        return Part(part.rows, self.means(part.rows), part.variance)


@dataclass(frozen=True, eq=False)
class Moved:
    """A change by labels: with c = function(x), mean += c changes and variance -= weight |c|^2."""

    function: Predictor  # of r columns
    changes: Floats  # r x M
    weight: float

    def __call__(self, part: Part) -> Part:
        # New arrays, not changed ones: whoever holds the last state keeps it.
        mean, variance = np.array(part.mean, order="C"), part.variance.copy()
        step = max(1, BLOCK_ENTRIES // max(len(self.changes), 1) // BLOCK_ROWS) * BLOCK_ROWS
        # Rows may be more than memory holds, and are read in one stream.
        for first, block in part.blocks(size=step):
            self._move(block, mean[first : first + step], variance[first : first + step])
        return Part(part.rows, mean, variance)

    def _move(self, block: Part, mean: Floats, variance: Floats) -> None:
        halves, changes = np.ascontiguousarray(self.function(block.rows)), np.ascontiguousarray(self.changes)
        over_slices(
            lambda lo, hi: moments.move(halves, changes, self.weight, mean, variance, lo, hi),
            len(variance),
            len(variance) * (changes.size + 1),
        )


def for_items(function: Predictor, by: Floats | None = None) -> Predictor:
    """The function of items alone, times a matrix (columns x r) if there is one: as little as has to travel."""
    if isinstance(function, LookupTable):
        return CodedTable(function.table if by is None else np.ascontiguousarray(function.table @ by))
    assert isinstance(function, DensePredictor)
    return function if by is None else DensePredictor(function.kernel, function.x, function.v @ by)


@dataclass(frozen=True, eq=False)
class Applied:
    """A look: the function of the items."""

    function: Predictor

    def __call__(self, _: int, part: Part) -> Floats:
        return self.function(part.rows)


def size_of(_: int, part: Part) -> Size:
    """A look: how large a part is."""
    return Size.of(part.rows)


def means_of(_: int, part: Part) -> Floats:
    """A look: the means."""
    return part.mean


def variances_of(_: int, part: Part) -> Floats:
    """A look: the variances."""
    return part.variance


def best_classes(_: int, part: Part) -> Indices:
    """A look: the class with the largest mean, of each item."""
    return np.asarray(part.mean.argmax(axis=1)) if part.mean.shape[1] else np.empty(0, dtype=np.int64)


def total(_: int, part: Part) -> float:
    """A look: finite if all numbers are."""
    with np.errstate(all="ignore"):
        return float(part.mean.sum() + part.variance.sum())


def whole(found: list[NDArray[Any]]) -> NDArray[Any]:
    """What was collected, as one array; nothing is copied if it is one."""
    return found[0] if len(found) == 1 else np.concatenate(found)


def rows_of(parts: Parts) -> Any:
    """All rows of a pool."""
    first, *others = parts.collect(_rows)
    return joined_rows(first, others) if others else first


def _rows(_: int, part: Part) -> Any:
    return part.rows


def joined_rows(rows: Any, others: Sequence[Any]) -> Any:
    """Rows, then others; whoever holds the first keeps them as they are."""
    if not isinstance(rows, CodedRows):
        return np.concatenate([rows, *others])
    rows = copy(rows)  # shares its arrays
    for other in others:
        rows.append(other)
    return rows
