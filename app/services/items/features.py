"""Features of items as bytes, and back to a table."""

from collections.abc import Iterable, Sequence
from itertools import chain, pairwise

import numpy as np
import scipy.sparse as sp

from core._types import Floats, Indices, Table

SPARSE, DENSE = b"s", b"d"
PER_ENTRY, PER_COLUMN = 12, 8  # bytes
TOLERANCE = 1e-4  # by which vectors of length 1 may differ, where a network made them in another batch or elsewhere


def encode(indices: Indices, values: Floats) -> bytes:
    """The one encoding of these features, whatever form they came in: sorted, without zeros, shortest.

    >>> encode(np.array([2, 0]), np.array([5.0, 1.0])) == encode(np.array([0, 1, 2]), np.array([1.0, 0.0, 5.0]))
    True
    """
    kept = values != 0.0
    indices, values = indices[kept], values[kept]
    order = np.argsort(indices)
    indices, values = indices[order], values[order]
    length = int(indices[-1]) + 1 if len(indices) else 0
    if len(indices) * PER_ENTRY <= length * PER_COLUMN:
        return SPARSE + indices.astype("<i4").tobytes() + values.astype("<f8").tobytes()
    dense = np.zeros(length, dtype="<f8")
    dense[indices] = values
    return DENSE + dense.tobytes()


def table(blobs: Iterable[bytes], width: int) -> Table:
    """Rows of a CSR table, or of a dense one if every row is dense."""
    entries = [_entries(blob) for blob in blobs]
    lengths = np.array([len(values) for _, values in entries], dtype=np.int64)
    all_values = np.concatenate([values for _, values in entries]) if entries else np.empty(0)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    columns = [np.arange(len(values), dtype=np.int32) if indices is None else indices for indices, values in entries]
    all_columns = np.concatenate(columns) if columns else np.empty(0, dtype=np.int32)
    rows = sp.csr_matrix((all_values, all_columns, starts), shape=(len(entries), width))
    return rows.toarray() if entries and all(indices is None for indices, _ in entries) else rows


def blobs(table: Table) -> list[bytes]:
    """Rows of a table as they are stored.

    >>> blobs(np.array([[0.0, 5.0], [1.0, 0.0]])) == blobs(sp.csr_matrix([[0.0, 5.0], [1.0, 0.0]]))
    True
    """
    if not sp.issparse(table):
        return [encode(np.arange(table.shape[1]), row) for row in table]
    return [encode(table.indices[a:b], table.data[a:b]) for a, b in pairwise(table.indptr)]


Given = Sequence[float] | tuple[Sequence[int], Sequence[float]]
"""A row as users give it: all values, or indices and values."""


def given_table(rows: Sequence[Given], width: int) -> Table:
    """Rows of a request, or a ValueError that says what does not fit.

    >>> given_table([[1.0, 0.0], ([1], [2.0])], 2).toarray().tolist()
    [[1.0, 0.0], [0.0, 2.0]]
    """
    if not any(isinstance(row, tuple) for row in rows):
        if any(len(row) != width for row in rows):
            raise ValueError(f"rows must have {width} columns, as the items have")
        return np.array(rows, dtype=np.float64)
    pairs = [row if isinstance(row, tuple) else (range(len(row)), row) for row in rows]
    lengths = np.array([len(values) for _, values in pairs])
    indices = np.fromiter(chain.from_iterable(indices for indices, _ in pairs), np.int32)
    values = np.fromiter(chain.from_iterable(values for _, values in pairs), np.float64)
    if len(indices) != len(values) or any(len(row) != len(values) for row, values in pairs):
        raise ValueError("a row must have as many indices as values")
    if len(indices) and (indices.min() < 0 or indices.max() >= width):
        raise ValueError(f"rows must have {width} columns, as the items have")
    matrix = sp.csr_matrix((values, indices, np.concatenate([[0], np.cumsum(lengths)])), shape=(len(rows), width))
    stored = matrix.nnz
    matrix.sum_duplicates()
    if matrix.nnz < stored:
        raise ValueError("an index must not come twice in a row")
    return matrix


def close(one: bytes, other: bytes) -> bool:
    """Whether two rows are the same but for the last digits of single precision.

    >>> close(encode(np.array([0, 2]), np.array([0.5, 1.0])), encode(np.array([0, 2]), np.array([0.5, 1.0 + 1e-7])))
    True
    """
    (indices, values), (other_indices, other_values) = _entries(one), _entries(other)
    if len(values) != len(other_values) or (indices is None) != (other_indices is None):
        return False
    same = indices is None or other_indices is None or bool((indices == other_indices).all())
    return same and bool(np.abs(values - other_values).max(initial=0.0) < TOLERANCE)


def n_columns(blobs: Iterable[bytes]) -> int:
    """Columns that these rows need."""
    longest = 0
    for blob in blobs:
        indices, values = _entries(blob)
        longest = max(longest, len(values) if indices is None else int(indices[-1]) + 1 if len(indices) else 0)
    return longest


def _entries(blob: bytes) -> tuple[Indices | None, Floats]:
    if blob[:1] == DENSE:
        return None, np.frombuffer(blob, "<f8", offset=1)
    n = (len(blob) - 1) // PER_ENTRY
    return np.frombuffer(blob, "<i4", n, offset=1), np.frombuffer(blob, "<f8", n, offset=1 + 4 * n)


def entries_of(blob: bytes) -> tuple[list[int], list[float]]:
    """Columns and values of what is not zero.

    >>> entries_of(encode(np.array([2, 0]), np.array([5.0, 1.0])))
    ([0, 2], [1.0, 5.0])
    """
    indices, values = _entries(blob)
    columns = np.flatnonzero(values) if indices is None else indices
    return columns.tolist(), values[values != 0.0].tolist()


def values_of(blob: bytes) -> Floats:
    """The numbers that are stored."""
    return _entries(blob)[1]
