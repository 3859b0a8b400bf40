"""Rows of features in every form that a kernel reads.

All forms are indexed as arrays are: rows[first:last] and rows[indices]. So plain arrays need no wrapper. The functions
below are for what indexing cannot do.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from core._types import Floats, Table
from core.histograms import CodedRows, RawRows
from core.vectors import PoolVectors

HistogramRows = CodedRows | RawRows
"""Rows that histogram intersection kernels compare: values as they came, or level ids."""


@dataclass(frozen=True, eq=False)
class ChannelRows:
    """The same rows as each channel of a sum of kernels reads them."""

    channels: "tuple[HistogramRows | PoolVectors | Floats, ...]"

    def __len__(self) -> int:
        return n_rows(self.channels[0])

    def __getitem__(self, rows: Any) -> "ChannelRows":
        return ChannelRows(tuple(channel[rows] for channel in self.channels))


Rows = HistogramRows | ChannelRows | PoolVectors | Floats
"""Rows to predict or to learn: histograms, an n x D array for the other kernels, or both for a sum of kernels.

The linear operator also takes a CSR matrix, which scipy leaves untyped.
"""


@dataclass(frozen=True)
class Size:
    """How many rows there are, and how many codes if they are coded: what cost estimates need to know of them."""

    rows: int
    nnz: int  # codes of coded rows, 0 for other forms
    coded: bool

    @classmethod
    def of(cls, rows: Rows) -> "Size":
        """The size of these rows.

        >>> Size.of(np.zeros((3, 2)))
        Size(rows=3, nnz=0, coded=False)
        """
        if isinstance(rows, CodedRows):
            return cls(len(rows), rows.nnz, coded=True)
        if isinstance(rows, ChannelRows):
            return cls(len(rows), sum(cls.of(channel).nnz for channel in rows.channels), coded=False)
        return cls(n_rows(rows), 0, coded=False)

    @classmethod
    def total(cls, sizes: "Iterable[Size]") -> "Size":
        """The sum of several sizes; coded if all of them are."""
        known = list(sizes)
        return cls(sum(s.rows for s in known), sum(s.nnz for s in known), all(s.coded for s in known))


NO_ROWS = Size(0, 0, coded=True)


def is_stored(rows: Rows) -> bool:
    """Whether they would be learnt as they are; raw histograms may get other values, or levels for them.

    >>> is_stored(np.zeros((3, 2)))
    True
    """
    if isinstance(rows, ChannelRows):
        return all(is_stored(own) for own in rows.channels)
    return not isinstance(rows, HistogramRows) or isinstance(rows, CodedRows)


def n_rows(rows: Rows) -> int:
    """The number of rows: `len`, which CSR matrices do not have."""
    return int(vectors(rows).shape[0]) if sp.issparse(rows) else len(rows)


def concatenate(rows: Rows, others: Sequence[Rows]) -> Rows:
    """Rows, then others of the same form. Whoever holds the first keeps them as they are."""
    if isinstance(rows, CodedRows):
        return rows.concatenate([coded_rows(other) for other in others])
    if isinstance(rows, ChannelRows):
        columns = zip(*(channel_rows(other).channels for other in others), strict=True)
        pairs = zip(rows.channels, columns, strict=True) if others else ((own, ()) for own in rows.channels)
        return ChannelRows(tuple(concatenate(own, more) for own, more in pairs))  # type: ignore[misc]
    if isinstance(rows, PoolVectors):
        return rows.concatenate(
            [other.numbers if isinstance(other, PoolVectors) else vectors(other) for other in others]
        )
    return np.concatenate([vectors(rows), *map(vectors, others)])


def pooled(rows: Rows, memory: float) -> Rows:
    """The same rows as a pool keeps them, with so many bytes for what labels compare them with."""
    if isinstance(rows, ChannelRows):
        dense = [own for own in rows.channels if not isinstance(own, HistogramRows)]
        return ChannelRows(tuple(pooled(own, memory / max(len(dense), 1)) for own in rows.channels))  # type: ignore[misc]
    if isinstance(rows, HistogramRows) or sp.issparse(rows):
        return rows
    numbers = rows.numbers if isinstance(rows, PoolVectors) else rows
    return PoolVectors(numbers, memory)


def histogram_rows(rows: Rows) -> HistogramRows:
    """The same rows, which must be histograms."""
    if not isinstance(rows, HistogramRows):
        raise TypeError(f"histogram kernels compare raw or coded rows; got {type(rows).__name__}: use raw_rows")
    return rows


def coded_rows(rows: Rows) -> CodedRows:
    """The same rows, which must be coded."""
    if not isinstance(rows, CodedRows):
        raise TypeError(f"expected coded rows; got {type(rows).__name__}: use code_rows")
    return rows


def channel_rows(rows: Rows) -> ChannelRows:
    """The same rows, which must be those of several channels."""
    if not isinstance(rows, ChannelRows):
        raise TypeError(f"a sum of kernels compares rows of channels; got {type(rows).__name__}")
    return rows


def vectors(rows: Rows) -> Table:
    """The same rows, which must be a dense array (or a CSR matrix)."""
    if isinstance(rows, HistogramRows | ChannelRows):
        raise TypeError(f"expected dense vectors; got {type(rows).__name__}, which histogram kernels compare")
    return rows.numbers.astype(np.float64, copy=False) if isinstance(rows, PoolVectors) else rows
