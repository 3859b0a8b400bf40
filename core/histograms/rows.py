"""Level-coded rows: one small integer per non-zero."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core._types import Codes, Indices
from core.histograms.raw import entries_of


def code_type(n_levels: int) -> type[np.unsignedinteger[Any]]:
    """The smallest integer that holds every level id: reading codes is what products spend their time on."""
    return np.uint16 if n_levels <= 1 << 16 else np.uint32


@dataclass(eq=False)
class CodedRows:
    """Row i holds the level ids `codes[starts[i]:starts[i + 1]]`, ascending by dimension.

    Appending writes behind the last row into buffers that double, so arrays taken before stay valid and unchanged.
    """

    _codes: Codes
    _starts: Indices
    _n: int
    lineage: str = ""  # of the level table that the codes belong to

    @classmethod
    def of(cls, codes: Codes, starts: Indices, lineage: str = "") -> "CodedRows":
        """From the codes of all rows, and where each row begins.

        >>> rows = CodedRows.of(np.array([4, 7, 9], dtype=np.uint16), np.array([0, 2, 3]))
        >>> rows.append(rows)
        >>> rows.codes.tolist(), rows.starts.tolist()
        ([4, 7, 9, 4, 7, 9], [0, 2, 3, 5, 6])
        """
        return cls(codes, starts, len(starts) - 1, lineage)

    @classmethod
    def empty(cls, lineage: str = "") -> "CodedRows":
        return cls.of(np.empty(0, dtype=np.uint16), np.zeros(1, dtype=np.int64), lineage)

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
        nnz, n = self.nnz + rows.nnz, self._n + len(rows)
        wide = np.promote_types(self._codes.dtype, rows._codes.dtype)
        self._codes = _with_room(self._codes.astype(wide, copy=False), self.nnz, nnz)
        self._starts = _with_room(self._starts, self._n + 1, n + 1)
        self._codes[self.nnz : nnz] = rows.codes
        self._starts[self._n + 1 : n + 1] = self.nnz + rows.starts[1:]
        self._n = n

    def take(self, rows: Indices) -> "CodedRows":
        """The rows with these numbers, in this order."""
        entries, starts = entries_of(self.starts, rows)
        return CodedRows.of(self._codes[entries], starts, self.lineage)

    def remove(self, rows: Indices) -> None:
        """Drop the rows with these numbers; the others move up. Arrays taken before keep the old rows."""
        kept = np.ones(self._n, dtype=bool)
        kept[rows] = False
        lengths = np.diff(self.starts)
        self._codes = self.codes[np.repeat(kept, lengths)]
        self._starts = np.concatenate(([0], np.cumsum(lengths[kept])))
        self._n = len(self._starts) - 1


def _with_room(buffer: NDArray[Any], used: int, needed: int) -> NDArray[Any]:
    if needed <= len(buffer):
        return buffer
    grown = np.empty(max(needed, 2 * used), dtype=buffer.dtype)
    grown[:used] = buffer[:used]
    return grown
