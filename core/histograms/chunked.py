"""Tables that are never there as a whole: read in blocks of rows, each time they are gone through."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import scipy.sparse as sp

from core._types import Indices, Table

BLOCK_ROWS = 1 << 17

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Chunked:
    """Rows that `read(first, last)` brings from wherever they are, always the same ones.

    >>> table = Chunked((3, 1), lambda first, last: np.arange(3.0)[first:last, None])
    >>> table[1:].tolist(), table[np.array([2, 0])].tolist()
    ([[1.0], [2.0]], [[2.0], [0.0]])
    """

    shape: tuple[int, int]
    read: Callable[[int, int], Table]

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
        """With each block changed when it is read; it may have another width then."""
        shape = self.shape[0], width or self.shape[1]
        return Chunked(shape, lambda first, last: change(self.read(first, last)))


def blocks_of(x: Table) -> Iterator[Table]:
    """The table in blocks of rows, so that what is made of it is never there as a whole; one block if it is empty."""
    for first in range(0, max(x.shape[0], 1), BLOCK_ROWS):
        yield x[first : first + BLOCK_ROWS]


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
    whole = joined.pop()[1]
    while joined:
        whole = join(joined.pop()[1], whole)
    return whole
