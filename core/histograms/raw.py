"""Raw rows: checked non-negative values, not yet coded as levels."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from core._types import Dims, Floats, Indices, Table
from core.histograms.indexing import IndexedRows


@dataclass(frozen=True, eq=False)
class RawRows(IndexedRows):
    """Sparse rows: row i holds `values[k]` in dimension `dims[k]` for k from starts[i] to starts[i + 1].

    Every row ends with a 1 in an extra dimension behind the data: the constant term of the kernel is the weight of
    that dimension, and no later step needs to know about it.
    """

    starts: Indices  # n + 1
    dims: Dims  # nnz, ascending in a row
    values: Floats  # nnz, positive
    n_dims: int  # with the constant one

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def nnz(self) -> int:
        return len(self.dims)

    def take(self, rows: Indices) -> "RawRows":
        entries, starts = entries_of(self.starts, rows)
        return RawRows(starts, self.dims[entries], self.values[entries], self.n_dims)

    def between(self, first: int, last: int) -> "RawRows":
        starts = self.starts[first : last + 1]
        entries = slice(starts[0], starts[-1])
        return RawRows(starts - starts[0], self.dims[entries], self.values[entries], self.n_dims)


def entries_of(starts: Indices, rows: Indices) -> tuple[Indices, Indices]:
    """Positions of the entries of these rows, and where each row starts among those entries (len(rows) + 1)."""
    lengths = starts[rows + 1] - starts[rows]
    new_starts = np.concatenate(([0], np.cumsum(lengths)))
    entries = np.arange(new_starts[-1]) + np.repeat(starts[rows] - new_starts[:-1], lengths)
    return entries, new_starts


def raw_rows(x: Table) -> RawRows:
    """Sparse rows with the constant dimension from a dense or CSR block of valid numbers.

    >>> rows = raw_rows(np.array([[0.0, 2.0], [1.0, 0.0]]))
    >>> rows.dims.tolist(), rows.values.tolist()
    ([1, 2, 0, 2], [2.0, 1.0, 1.0, 1.0])
    """
    return _from_csr(sp.csr_array(x)) if sp.issparse(x) else _from_dense(np.asarray(x))


def _from_dense(x: Floats) -> RawRows:
    n, width = x.shape
    x = np.hstack([x, np.ones((n, 1))])
    filled = x != 0.0
    starts = np.concatenate(([0], np.cumsum(np.count_nonzero(filled, axis=1))))
    dims = np.broadcast_to(np.arange(width + 1, dtype=np.int32), x.shape)[filled]
    return RawRows(starts, dims, x[filled], width + 1)


def _from_csr(x: sp.csr_array) -> RawRows:
    if not x.has_canonical_format:
        x = x.copy()
        x.sum_duplicates()
    if not x.data.all():
        x = x.copy()
        x.eliminate_zeros()
    n, width = x.shape
    starts = x.indptr.astype(np.int64) + np.arange(n + 1)
    constant = np.zeros(starts[-1], dtype=bool)
    constant[starts[1:] - 1] = True
    dims = np.full(starts[-1], width, dtype=np.int32)
    values = np.ones(starts[-1])
    dims[~constant] = x.indices
    values[~constant] = x.data
    return RawRows(starts, dims, values, width + 1)
