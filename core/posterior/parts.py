"""A pool in parts: rows, means and variances of its items, in this process or on other machines.

Parts are immutable. A change of the pool is a picklable function from a part to a new part, so that it can be sent to
the workers of a cluster; a pool in memory is one part. Parts begin at multiples of `BLOCK_ROWS` and are computed in
blocks of that size, so that results do not depend on how the pool is divided.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from core._jit import moments
from core._parallel import over_slices
from core._types import Floats, Indices, Table
from core.linalg import Operator, Predictor
from core.posterior.base import Variances
from core.rows import Rows, Size, concatenate, pooled

T = TypeVar("T")

BLOCK_ROWS = 1 << 16  # items at a time
BLOCK_ENTRIES = 1 << 24  # of covariances at a time


class Block(NamedTuple):
    """A slice of a part."""

    first: int  # index of its first item
    part: "Part"


@dataclass(frozen=True, eq=False)
class Part:
    """m items with their posterior means and variances."""

    rows: Rows  # m
    mean: Floats  # m x M
    variance: Floats  # m
    finite: bool | None = None  # whether all means and variances are; None where nobody has looked

    @classmethod
    def begin(cls, rows: Rows) -> "Part":
        """Rows whose means and variances are still to be computed."""
        m = len(rows)
        return cls(rows, np.empty((m, 0)), np.empty(m))

    def __len__(self) -> int:
        return len(self.variance)

    @property
    def is_finite(self) -> bool:
        """Whether all means and variances are finite."""
        return _is_finite(self.mean, self.variance) if self.finite is None else self.finite

    def take(self, places: Indices) -> "Part":
        """The items at these places, in this order."""
        return Part(self.rows[places], self.mean[places], self.variance[places])

    def between(self, first: int, last: int) -> "Part":
        """The items from `first` to before `last`; nothing is copied."""
        return Part(self.rows[first:last], self.mean[first:last], self.variance[first:last])

    def joined(self, others: "Sequence[Part]") -> "Part":
        """These items, then the others."""
        parts = [self, *others]
        return Part(
            concatenate(self.rows, [part.rows for part in others]),
            np.concatenate([part.mean for part in parts]),
            np.concatenate([part.variance for part in parts]),
        )

    def blocks(self, first: int = 0, size: int = BLOCK_ROWS) -> Iterator[Block]:
        """Blocks of so many items, where `first` is the number of the first item."""
        for start in range(0, len(self), size):
            yield Block(first + start, self.between(start, min(len(self), start + size)))


Change = Callable[[Part], Part]


class Parts(Protocol):
    """All items of a pool; results of `collect` are one per part, in order."""

    def __len__(self) -> int: ...

    def map(self, change: Change) -> "Parts":
        """The pool with a function applied to each part; this one does not change."""
        ...

    def collect(self, function: Callable[..., T], along: NDArray[Any] | None = None) -> list[T]:
        """function(index of the first item, part) of each part.

        `along` has an entry for each item; each part gets its slice of it as a third argument.
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
    def of(cls, rows: Rows) -> "LocalParts":
        """Rows whose means and variances are still to be computed."""
        return cls(Part.begin(rows))

    def __len__(self) -> int:
        return len(self.part)

    def map(self, change: Change) -> "LocalParts":
        return LocalParts(change(self.part))

    def collect(self, function: Callable[..., T], along: NDArray[Any] | None = None) -> list[T]:
        return [function(0, self.part) if along is None else function(0, self.part, along)]

    def take(self, items: Indices) -> Part:
        return self.part.take(items)

    def append(self, part: Part) -> "LocalParts":
        return LocalParts(self.part.joined([part]))


@dataclass(frozen=True, eq=False)
class Encoding:
    """Function of a block of a table: its rows, as they are stored."""

    reader: Callable[[Table], Rows]
    operator: Operator  # without rows

    def __call__(self, x: Table) -> Rows:
        return self.operator.encode(self.reader(x))


@dataclass(frozen=True, eq=False)
class Checked:
    """For `collect`: raises a ValueError where kernel values are not finite."""

    operator: Operator  # without rows

    def __call__(self, _: int, part: Part) -> None:
        self.operator.check(part.rows)


@dataclass(frozen=True, eq=False)
class Kept:
    """For `map`: rows as a pool keeps them, with so many bytes an item for what labels compare it with."""

    memory: float

    def __call__(self, part: Part) -> Part:
        return replace(part, rows=pooled(part.rows, self.memory * len(part)))


@dataclass(frozen=True, eq=False)
class Computed:
    """For `map`: means and variances computed again."""

    means: Predictor
    variances: Variances

    def __call__(self, part: Part) -> Part:
        mean, variance = self.means(part.rows), self.variances(part.rows)
        return Part(part.rows, mean, variance, _is_finite(mean, variance))


@dataclass(frozen=True, eq=False)
class Retargeted:
    """For `map`: means computed again."""

    means: Predictor

    def __call__(self, part: Part) -> Part:
        mean = self.means(part.rows)
        return Part(part.rows, mean, part.variance, _is_finite(mean, part.variance))


@dataclass(frozen=True, eq=False)
class Moved:
    """For `map`: the update by labels; with c = function(x), mean += c changes and variance -= weight |c|^2."""

    function: Predictor  # of r columns
    changes: Floats  # r x M
    weight: float

    def __call__(self, part: Part) -> Part:
        # New arrays, not changed ones: whoever holds the last state keeps it.
        mean, variance, finite = np.empty(part.mean.shape), np.empty(len(part)), True
        step = max(1, BLOCK_ENTRIES // max(len(self.changes), 1) // BLOCK_ROWS) * BLOCK_ROWS
        # Rows may be more than memory holds, and are read in one stream.
        for first, block in part.blocks(size=step):
            finite &= self._move(block, mean[first : first + step], variance[first : first + step])
        return Part(part.rows, mean, variance, finite)

    def _move(self, block: Part, mean: Floats, variance: Floats) -> bool:
        """Write what comes out for a block; whether it is finite."""
        halves, changes = np.ascontiguousarray(self.function(block.rows)), np.ascontiguousarray(self.changes)
        before, totals = np.ascontiguousarray(block.mean), list[float]()

        def move(lo: int, hi: int) -> None:
            args = halves, changes, self.weight, before, block.variance, mean, variance, lo, hi
            totals.append(moments.move(*args))

        over_slices(move, len(variance), len(variance) * (changes.size + 1))
        return bool(np.isfinite(totals).all())


@dataclass(frozen=True, eq=False)
class Applied:
    """For `collect`: the values of a predictor."""

    function: Predictor

    def __call__(self, _: int, part: Part) -> Floats:
        return self.function(part.rows)


def kept(parts: Parts, max_memory: float) -> Parts:
    """A pool whose rows stay, whatever labels come: half of the memory is for what labels compare them with."""
    return parts.map(Kept(max_memory / 2.0 / max(len(parts), 1)))


def size_of(_: int, part: Part) -> Size:
    """For `collect`: the size of a part."""
    return Size.of(part.rows)


def means_of(_: int, part: Part) -> Floats:
    """For `collect`: the means."""
    return part.mean


def variances_of(_: int, part: Part) -> Floats:
    """For `collect`: the variances."""
    return part.variance


def best_classes(_: int, part: Part) -> Indices:
    """For `collect`: the class with the largest mean, of each item."""
    return np.asarray(part.mean.argmax(axis=1)) if part.mean.shape[1] else np.empty(0, dtype=np.int64)


def is_finite(_: int, part: Part) -> bool:
    """For `collect`: whether all means and variances are finite."""
    return part.is_finite


def _is_finite(mean: Floats, variance: Floats) -> bool:
    with np.errstate(all="ignore"):
        return bool(np.isfinite(mean.sum() + variance.sum()))


def concatenate_parts(arrays: list[NDArray[Any]]) -> NDArray[Any]:
    """The arrays of all parts as one; nothing is copied if there is one part."""
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def rows_of(parts: Parts) -> Rows:
    """All rows of a pool."""
    first, *others = parts.collect(_rows)
    return concatenate(first, others) if others else first


def _rows(_: int, part: Part) -> Rows:
    return part.rows
