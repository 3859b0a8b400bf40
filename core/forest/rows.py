"""The rows that all trees share, and how trees and leaves read them."""

from typing import Protocol, Self

import numpy as np
import scipy.sparse as sp

from core._types import Floats, Indices, Table
from core.drafts import Drafted
from core.forest.tree import Tree
from core.histograms import Histograms, LevelRule
from core.kernels import IntersectionKernel, Kernel
from core.linalg import DenseOperator, Operator, histogram_operator
from core.posterior import LabelRegression
from core.rows import NO_ROWS, Rows, Size
from core.tables import Reader, dense


class ForestRows(Protocol):
    """Rows that a forest stands on. `x` is some rows, these or others, in the form they are kept in."""

    max_memory: float  # bytes of one model, which may decide how it is solved

    def __len__(self) -> int: ...

    @property
    def pool_size(self) -> Size:
        """Of the rows that ask for their moments at each label."""
        ...

    def draft(self) -> Self:
        """A twin (see core.drafts)."""
        ...

    def take(self, numbers: Indices | None = None) -> Rows:
        """These rows or all, in their form."""
        ...

    def append(self, x: Rows) -> None:
        """More rows at the end."""
        ...

    def table(self, x: Rows) -> Table:
        """The numbers that trees look at."""
        ...

    def route(self, tree: Tree, x: Rows) -> Indices:
        """The leaf of each row."""
        ...

    def query(self, x: Rows) -> Rows:
        """As the models of leaves read them."""
        ...

    def operator(self, numbers: Indices, kernel: Kernel) -> Operator:
        """Of these rows."""
        ...

    def distinct(self, numbers: Indices, labels: Indices, noise_factors: Floats) -> tuple[Indices, Indices, Floats]:
        """The same rows, where those that are equal may have become one."""
        ...

    def prior(self, a: Rows, b: Rows, kernel: Kernel) -> Floats:
        """Prior covariance of rows in this form, a x b."""
        ...

    def covariance(self, model: LabelRegression, a: Rows, b: Rows) -> Floats:
        """Posterior covariance of such rows, a x b."""
        ...


class TableRows(Drafted):
    """Rows of a table in the order they came: dense in a buffer that doubles, or CSR.

    Only the rows of one leaf at a time are coded, with the levels that they need.
    """

    max_memory = np.inf
    pool_size = NO_ROWS

    def __init__(self, x: Table, reader: Reader, levels: LevelRule) -> None:
        self._table = x.copy()  # the caller may change what it has
        self._n: int = x.shape[0]
        self.reader = reader
        self._levels = levels

    def __len__(self) -> int:
        return self._n

    def take(self, numbers: Indices | None = None) -> Table:
        return self._table[: self._n] if numbers is None else self._table[numbers]

    def append(self, x: Table) -> None:
        n = self._n + x.shape[0]
        if sp.issparse(self._table) or sp.issparse(x):
            self._table = sp.vstack([sp.csr_array(self.take()), sp.csr_array(x)], format="csr")
        else:
            self._table = _with_room(self._table, self._n, n)
            self._table[self._n : n] = x
        self._n = n

    def remove(self, numbers: Indices) -> None:
        """Drop rows; the others move up."""
        kept = np.delete(np.arange(self._n), numbers)
        self._table, self._n = self._table[kept], len(kept)

    def only(self, numbers: Indices) -> "TableRows":
        """These rows alone, read in the same way."""
        return TableRows(self.take(numbers), self.reader, self._levels)

    def table(self, x: Table) -> Table:
        return x

    def route(self, tree: Tree, x: Table) -> Indices:
        return tree.route(x)

    def query(self, x: Table) -> Rows:
        return self.reader(x)

    def operator(self, numbers: Indices, kernel: Kernel) -> Operator:
        return self._operator(self.take(numbers), kernel)

    def distinct(self, numbers: Indices, labels: Indices, noise_factors: Floats) -> tuple[Indices, Indices, Floats]:
        """Equal rows with equal labels as one, with less noise: n of them tell as much as one with noise / n."""
        both = np.column_stack([dense(self.take(numbers)), labels])
        _, first, inverse = np.unique(both, axis=0, return_index=True, return_inverse=True)
        return numbers[first], labels[first], 1.0 / np.bincount(inverse.ravel(), 1.0 / noise_factors)

    def prior(self, a: Table, b: Table, kernel: Kernel) -> Floats:
        return self._operator(b, kernel).cross(self.reader(a)).T

    def covariance(self, model: LabelRegression, a: Table, b: Table) -> Floats:
        # Values of b need not be levels of the leaf, so that no look-up table is exact.
        known, other = (model.operator.cross(self.reader(x)) for x in (a, b))
        explained = known.T @ model.posterior.inverse_times(other)
        return np.asarray(self.prior(a, b, model.operator.kernel) - explained)

    def _operator(self, x: Table, kernel: Kernel) -> Operator:
        """Histograms keep every value of a leaf as a level, as far as `levels` allows."""
        if isinstance(kernel, IntersectionKernel):
            return histogram_operator(Histograms.of(self.reader.coded(x), self._levels), kernel)
        return DenseOperator(dense(x), kernel)  # type: ignore[arg-type]


def _with_room(buffer: Floats, used: int, needed: int) -> Floats:
    if needed <= len(buffer) and buffer.flags.owndata:
        return buffer
    grown = np.empty((max(needed, 2 * used), buffer.shape[1]))
    grown[:used] = buffer[:used]
    return grown
