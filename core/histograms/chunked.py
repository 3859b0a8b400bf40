"""Tables that do not fit into memory: each pass over them reads them again, in blocks of rows."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np
import scipy.sparse as sp

from core._types import Indices, Table

BLOCK_ROWS = 1 << 17

T = TypeVar("T")


class Engine(Protocol):
    """Processes, here or on other machines, that read blocks of a table and apply functions to them."""

    def reduce(self, table: "Chunked", summarise: Callable[[Table], T], join: Callable[[T, T], T]) -> T:
        """`summarise` of each block, joined in the order of `pairwise_reduced`."""
        ...

    def parts(self, table: "Chunked", code: Callable[[Table], Any]) -> Any:
        """The coded rows as parts of a pool (core.posterior.Parts), each in the process that made it."""
        ...


@dataclass(frozen=True, eq=False)
class Chunked:
    """A table of which `read(first, last)` returns rows, always the same ones; an engine may call it elsewhere.

    >>> table = Chunked((3, 1), lambda first, last: np.arange(3.0)[first:last, None])
    >>> table[1:].tolist(), table[np.array([2, 0])].tolist()
    ([[1.0], [2.0]], [[2.0], [0.0]])
    """

    shape: tuple[int, int]
    read: Callable[[int, int], Table]
    engine: Engine | None = None

    def __getitem__(self, rows: "slice | Indices") -> Table:
        """A block of neighbouring rows, or the rows with these numbers, in this order."""
        if isinstance(rows, slice):
            first, last, _ = rows.indices(self.shape[0])
            return self.read(first, last)
        parts, numbers = [self.read(0, 0)], np.asarray(rows, dtype=np.int64)
        blocks = numbers // BLOCK_ROWS
        for block in np.unique(blocks):
            some = self[block * BLOCK_ROWS : (block + 1) * BLOCK_ROWS]
            parts.append(some[numbers[blocks == block] - block * BLOCK_ROWS])
        together = sp.vstack(parts, format="csr") if any(map(sp.issparse, parts)) else np.vstack(parts)
        return together[np.argsort(np.argsort(blocks, kind="stable"), kind="stable")]

    def changed(self, change: Callable[[Table], Table], width: int | None = None) -> "Chunked":
        """The table with a function applied to each block when it is read; `width` is the new number of columns."""
        shape, read = (self.shape[0], width or self.shape[1]), self.read
        return replace(self, shape=shape, read=lambda first, last: change(read(first, last)))


def blocks_of(x: Table) -> Iterator[Table]:
    """Blocks of BLOCK_ROWS rows, so that copies of them stay small; one empty block for an empty table."""
    for first in range(0, max(x.shape[0], 1), BLOCK_ROWS):
        yield x[first : first + BLOCK_ROWS]


def reduced(x: Table, summarise: Callable[[Table], T], join: Callable[[T, T], T]) -> T:
    """`summarise` of each block of a table, joined by `join`, neighbours first; by its engine if it has one."""
    if isinstance(x, Chunked) and x.engine is not None:
        return x.engine.reduce(x, summarise, join)
    return pairwise_reduced(join, map(summarise, blocks_of(x)))


def pairwise_reduced(join: Callable[[T, T], T], parts: Iterable[T]) -> T:
    """All parts joined, neighbours first: a tree whose shape depends on the number of parts alone.

    Where some of them were joined before, 2^k neighbours at a time from the first on, the result is the same to the
    last bit; so it does not matter who joins what.

    >>> pairwise_reduced(lambda a, b: f"({a}{b})", "abcdefg")
    '(((ab)(cd))((ef)g))'
    """
    joined: list[tuple[int, T]] = []  # with how often, falling
    for part in parts:
        height, node = 0, part
        while joined and joined[-1][0] == height:
            height, node = height + 1, join(joined.pop()[1], node)
        joined.append((height, node))
    total = joined.pop()[1]
    while joined:
        total = join(joined.pop()[1], total)
    return total
