"""Level-coded rows: one small integer per non-zero."""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core._types import Codes, Indices
from core.histograms.chunked import BLOCK_ROWS
from core.histograms.indexing import IndexedRows
from core.histograms.raw import entries_of

Allocate = Callable[[int, Any], NDArray[Any]]
"""An array of so many entries of a type, whatever they hold: of memory, or of a file that is mapped into it."""


def code_type(n_levels: int) -> type[np.unsignedinteger[Any]]:
    """The smallest integer that holds every level id: reading codes is what products spend their time on."""
    return np.uint16 if n_levels <= 1 << 16 else np.uint32


@dataclass(eq=False)
class CodedRows(IndexedRows):
    """Row i holds the level ids `codes[starts[i]:starts[i + 1]]`, ascending by dimension.

    Appending writes behind the last row into buffers that double, so arrays taken before stay valid and unchanged.
    Buffers come from `allocate`: where it maps (writable) files, there may be more rows than memory holds, as long as
    they are read in blocks.
    """

    _codes: Codes
    _starts: Indices
    _n: int
    lineage: str = ""  # id of the level table that the codes refer to
    allocate: Allocate = np.empty

    def __post_init__(self) -> None:
        # Mapped files are arrays like any others from here on: kernels are compiled for the plain type.
        self._codes, self._starts = np.asarray(self._codes), np.asarray(self._starts)
        if self._codes.dtype not in (np.uint16, np.uint32) or self._starts.dtype != np.int64:
            raise ValueError(
                "codes must be unsigned integers of 16 or 32 bits, and starts of 64; "
                f"got {self._codes.dtype} and {self._starts.dtype}"
            )
        if self._n and not 0 <= self.nnz <= len(self._codes):
            raise ValueError(f"rows must end within their {len(self._codes)} codes; the last one ends at {self.nnz}")

    @classmethod
    def of(cls, codes: Codes, starts: Indices, lineage: str = "", allocate: Allocate = np.empty) -> "CodedRows":
        """From the codes of all rows, and where each row begins.

        >>> rows = CodedRows.of(np.array([4, 7, 9], dtype=np.uint16), np.array([0, 2, 3]))
        >>> rows.append(rows)
        >>> rows.codes.tolist(), rows.starts.tolist()
        ([4, 7, 9, 4, 7, 9], [0, 2, 3, 5, 6])
        """
        return cls(codes, starts, len(starts) - 1, lineage, allocate)

    @classmethod
    def empty(cls, lineage: str = "") -> "CodedRows":
        return cls.of(np.empty(0, dtype=np.uint16), np.zeros(1, dtype=np.int64), lineage)

    @classmethod
    def with_room(cls, n: int, nnz: int, kind: Any, lineage: str = "", allocate: Allocate = np.empty) -> "CodedRows":
        """No rows yet, in buffers that hold n rows with nnz codes."""
        rows = cls(allocate(max(nnz, 1), kind), allocate(n + 1, np.int64), 0, lineage, allocate)
        rows._starts[0] = 0
        return rows

    def __len__(self) -> int:
        return self._n

    @property
    def nnz(self) -> int:
        return int(self._starts[self._n])

    @property
    def codes(self) -> Codes:
        return self._codes[: self.nnz]

    @property
    def starts(self) -> Indices:
        return self._starts[: self._n + 1]

    def append(self, rows: "CodedRows") -> None:
        """Add these rows at the end."""
        before, nnz, n = self.nnz, self.nnz + rows.nnz, self._n + len(rows)
        wide = np.promote_types(self._codes.dtype, rows._codes.dtype)
        self._codes = self._with_room(self._codes, before, nnz, wide)
        self._starts = self._with_room(self._starts, self._n + 1, n + 1, self._starts.dtype)
        self._codes[before:nnz] = rows.codes
        self._starts[self._n + 1 : n + 1] = before + rows.starts[1:]
        self._n = n

    def stored(self, allocate: Allocate) -> "CodedRows":
        """The same rows in buffers of another kind, where rows to come are stored, too."""
        rows = CodedRows.with_room(self._n, self.nnz, self._codes.dtype, self.lineage, allocate)
        for first in range(0, self._n, BLOCK_ROWS):
            rows.append(self.between(first, min(self._n, first + BLOCK_ROWS)))
        return rows

    def between(self, first: int, last: int) -> "CodedRows":
        starts = self._starts[first : last + 1]
        return CodedRows.of(self._codes[starts[0] : starts[-1]], starts - starts[0], self.lineage)

    def take(self, rows: Indices) -> "CodedRows":
        entries, starts = entries_of(self.starts, rows)
        return CodedRows.of(self._codes[entries], starts, self.lineage)

    def concatenate(self, others: "Sequence[CodedRows]") -> "CodedRows":
        """These rows, then the others; this object stays as it is, and shares its buffers with the result."""
        rows = copy(self)
        for other in others:
            rows.append(other)
        return rows

    def remove(self, rows: Indices) -> None:
        """Drop the rows with these numbers; the others move up. Arrays taken before keep the old rows."""
        kept = np.ones(self._n, dtype=bool)
        kept[rows] = False
        left = CodedRows.empty(self.lineage).stored(self.allocate)
        for first in range(0, self._n, BLOCK_ROWS):
            block = self.between(first, min(self._n, first + BLOCK_ROWS))
            left.append(block.take(np.flatnonzero(kept[first : first + BLOCK_ROWS])))
        self._codes, self._starts, self._n = left._codes, left._starts, left._n

    def _with_room(self, buffer: NDArray[Any], used: int, needed: int, kind: Any) -> NDArray[Any]:
        if needed <= len(buffer) and buffer.dtype == kind:
            return buffer
        grown = np.asarray(self.allocate(max(needed, 2 * used), kind))
        grown[:used] = buffer[:used]
        return grown
