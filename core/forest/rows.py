"""The rows that all trees share."""

import numpy as np
import scipy.sparse as sp

from core._types import Floats, Indices, Table
from core.drafts import Drafted


class RowStore(Drafted):
    """Labelled rows in the order they came: dense in a buffer that doubles, or CSR. Leaves hold row numbers only."""

    def __init__(self, x: Table, labels: Indices) -> None:
        self._table = x.copy()  # the caller may change what it has
        self._n: int = x.shape[0]
        self.labels = labels

    def __len__(self) -> int:
        return self._n

    @property
    def table(self) -> Table:
        """All rows."""
        return self._table[: self._n]

    def take(self, rows: Indices) -> Table:
        """Rows by number."""
        return self._table[rows]

    def append(self, x: Table, labels: Indices) -> None:
        """More rows at the end."""
        n = self._n + x.shape[0]
        if sp.issparse(self._table) or sp.issparse(x):
            self._table = sp.vstack([sp.csr_array(self.table), sp.csr_array(x)], format="csr")
        else:
            self._table = _with_room(self._table, self._n, n)
            self._table[self._n : n] = x
        self._n = n
        self.labels = np.concatenate([self.labels, labels])

    def remove(self, rows: Indices) -> None:
        """Drop rows; the others move up."""
        kept = np.delete(np.arange(self._n), rows)
        self._table, self.labels, self._n = self._table[kept], self.labels[kept], len(kept)


def _with_room(buffer: Floats, used: int, needed: int) -> Floats:
    if needed <= len(buffer) and buffer.flags.owndata:
        return buffer
    grown = np.empty((max(needed, 2 * used), buffer.shape[1]))
    grown[:used] = buffer[:used]
    return grown
