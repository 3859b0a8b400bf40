"""Tables of numbers as users give them, and how they become rows that a kernel reads."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from core._types import Floats, Table
from core.checks import check_finite, check_not_negative
from core.histograms import Chunked, Complement, RawRows, blocks_of, raw_rows, split_signs
from core.rows import ChannelRows


@dataclass(frozen=True)
class Reader:
    """How a table of numbers becomes rows of the operator: fixed when the first rows come."""

    histograms: bool
    complement: Complement | None
    split: bool = False
    sparse: bool = False  # rows may stay sparse where they are no histograms

    @property
    def doubles(self) -> bool:
        """Whether each column becomes two."""
        return self.split or self.complement is not None

    @property
    def differs(self) -> bool:
        """Whether complements have a range in some column."""
        return self.complement is None or bool((self.complement.high > self.complement.low).any())

    def check(self, x: Table) -> Table:
        """The table without duplicate entries, or a ValueError that names the value that cannot be used.

        One that is read in chunks is checked when it is read; rows are then counted from the first of the chunk.
        """
        if isinstance(x, Chunked):
            return x.changed(self.check)
        if sp.issparse(x) and not x.has_canonical_format:
            x = x.copy()
            x.sum_duplicates()
        check_finite(x)
        if self.histograms and not self.doubles:
            check_not_negative(x)
        return x

    def coded(self, x: Table) -> Table:
        """The numbers that are compared: complements or negative parts are joined here."""
        if isinstance(x, Chunked):
            return x.changed(self.coded, (1 + self.doubles) * x.shape[1])
        if self.split:
            return split_signs(x)
        return self.complement(x) if self.complement else x

    def __call__(self, x: Table) -> RawRows | Floats:
        """Checked rows as a query."""
        if self.histograms:
            return raw_rows(self.coded(x))
        return x if self.sparse else dense(x)


class ColumnsOf(Protocol):
    """The columns of a channel (core.settings.Channel)."""

    def of(self, x: Table) -> Table:
        """Its columns of a table."""
        ...


@dataclass(frozen=True)
class ChannelReader:
    """How a table becomes rows of the channels of a sum of kernels."""

    columns: tuple[ColumnsOf, ...]
    readers: tuple[Reader, ...]

    def check(self, x: Table) -> Table:
        """The table without duplicate entries, or a ValueError that names the value that cannot be used."""
        x = Reader(histograms=False, complement=None).check(x)
        for own, reader in zip(self.columns, self.readers, strict=True):
            if reader.histograms:
                reader.check(own.of(x))
        return x

    def __call__(self, x: Table) -> ChannelRows:
        """Checked rows as a query."""
        return ChannelRows(tuple(reader(own.of(x)) for own, reader in zip(self.columns, self.readers, strict=True)))


AnyReader = Reader | ChannelReader


def readers_of(reader: AnyReader) -> tuple[Reader, ...]:
    """The readers of all channels, or the one there is."""
    return reader.readers if isinstance(reader, ChannelReader) else (reader,)


def dense(x: Table) -> Floats:
    """The table as a dense array."""
    if isinstance(x, Chunked):
        return np.concatenate([dense(block) for block in blocks_of(x)])
    return np.asarray(x.toarray() if sp.issparse(x) else x)


def as_table(x: Any) -> Table:
    """Rows of numbers, dense or CSR, from what a user gives; values are not looked at.

    >>> as_table([[1, 2]]).dtype
    dtype('float64')
    """
    if isinstance(x, Chunked) and x.shape[0]:
        return x
    table = x.tocsr().astype(np.float64) if sp.issparse(x) else np.asarray(x, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] == 0 or table.shape[1] == 0:
        raise ValueError(f"items must be a table with at least one row and one column; got shape {table.shape}")
    return table
