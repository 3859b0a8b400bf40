"""The kernel matrix of dense vectors, computed again for each product or stored."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from core._types import Floats, Indices, Table
from core.drafts import Drafted
from core.kernels import DenseKernel, RBFKernel
from core.linalg.linear_operator import LinearPredictor
from core.linalg.operator import KernelExpansion, check_rows_finite
from core.rows import Rows, vectors
from core.vectors import PoolVectors

BLOCK_ROWS = 1024
FEW = 64  # columns of a function for which kernel columns of a pool are kept


@dataclass(frozen=True, eq=False)
class RBFPredictor:
    """x -> k(x, X) V from stored X and V."""

    kernel: RBFKernel
    x: Floats  # n x D
    v: Floats  # n x M

    def __call__(self, query: Rows, *, quantised: bool = False) -> Floats:  # noqa: ARG002
        kernel = self.kernel
        if isinstance(query, PoolVectors) and query.max_columns and self.v.shape[1] <= FEW:
            sums = query.bells(kernel.gamma * kernel.dim_weights, self.x, self.v)
            return np.asarray(kernel.amplitude * sums + kernel.bias * self.v.sum(axis=0))
        blocks = (vectors(query[i : i + BLOCK_ROWS]) for i in range(0, len(query), BLOCK_ROWS))
        return np.vstack([np.empty((0, self.v.shape[1])), *(kernel.cross(block, self.x) @ self.v for block in blocks)])

    def for_items(self, by: Floats | None = None) -> "RBFPredictor":
        return self if by is None else RBFPredictor(self.kernel, self.x, self.v @ by)


def dense_predictor(kernel: DenseKernel, x: Floats, v: Floats) -> KernelExpansion:
    """The function x -> k(x, X) V of n rows X; for the linear kernel that is one vector a column, whatever n."""
    if isinstance(kernel, RBFKernel):
        return RBFPredictor(kernel, x, v)
    return LinearPredictor(kernel.dim_weights[:, None] * (x.T @ v), kernel.bias * v.sum(axis=0))


class DenseOperator(Drafted):
    """K of dense vectors, computed block by block; the rows stand in a buffer that doubles."""

    def __init__(self, x: Floats, kernel: DenseKernel) -> None:
        self.kernel = kernel
        self._buffer = np.array(x, dtype=np.float64)
        self._n = len(x)

    def __len__(self) -> int:
        return self._n

    @property
    def x(self) -> Floats:
        return self._buffer[: self._n]

    def with_kernel(self, kernel: DenseKernel) -> "DenseOperator":
        """The same rows under another kernel."""
        return DenseOperator(self.x, kernel)

    def product(self, v: Floats) -> Floats:
        return self.predictor(v)(self.x)

    def predictor(self, v: Floats) -> KernelExpansion:
        return dense_predictor(self.kernel, self.x, v)

    def pull_back(self, e: Floats, f: Floats) -> Floats:
        return self.kernel.pull_back(self.x, e @ f.T)

    def pull_back_matrix(self, gradient: Floats) -> Floats:
        return self.kernel.pull_back(self.x, gradient)

    def difference(self, query: Rows, beta: Floats) -> KernelExpansion:
        x: Floats = vectors(query)
        return dense_predictor(self.kernel, np.vstack([self.x, x]), np.vstack([-beta, np.eye(len(x))]))

    def only(self, rows: Indices) -> "DenseOperator":
        return DenseOperator(self.x[rows], self.kernel)

    def training_rows(self, rows: Indices) -> Floats:
        return self.x[rows]

    def cross(self, query: Rows, first: int = 0) -> Floats:
        return self.kernel.cross(self.x[first:], vectors(query))

    def diagonal(self, query: Rows) -> Floats:
        return self.kernel.diagonal(vectors(query))

    def check(self, query: Rows) -> None:
        x: Floats = vectors(query)
        with np.errstate(over="ignore"):
            check_rows_finite(self.kernel.diagonal(x) + (x * x) @ self.kernel.dim_weights)

    @property
    def levels(self) -> None:
        return None

    def encode(self, query: Rows) -> Table:
        return vectors(query)

    def learn_levels(self, query: Rows) -> Table:
        return vectors(query)

    def follow_levels(self, levels: None) -> None:
        """There are none."""

    def append(self, query: Rows) -> None:
        x: Floats = vectors(query)
        n = self._n + len(x)
        if n > len(self._buffer):
            grown = np.empty((2 * n, self._buffer.shape[1]))
            grown[: self._n] = self.x
            self._buffer = grown
        self._buffer[self._n : n] = x
        self._n = n

    def remove(self, rows: Indices) -> None:
        self._buffer = np.delete(self.x, rows, axis=0)
        self._n = len(self._buffer)


class StoredOperator(DenseOperator):
    """Keeps K, n x n, where many products follow each other: for some thousands of rows.

    `single` keeps it in single precision, which is enough for a search: half the memory, and products take two thirds
    of the time.
    """

    _matrix: Any = None

    def __init__(self, x: Floats, kernel: DenseKernel, *, single: bool = False) -> None:
        super().__init__(x, kernel)
        self._type: type = np.float32 if single else np.float64

    def with_kernel(self, kernel: DenseKernel) -> "StoredOperator":
        return StoredOperator(self.x, kernel, single=self._type is np.float32)

    def only(self, rows: Indices) -> "StoredOperator":
        return StoredOperator(self.x[rows], self.kernel, single=self._type is np.float32)

    @property
    def matrix(self) -> Any:
        """K."""
        if self._matrix is None:
            self._matrix = self.kernel.cross(self.x, self.x).astype(self._type, copy=False)
        return self._matrix

    def product(self, v: Floats) -> Floats:
        return np.asarray(self.matrix @ v.astype(self._type, copy=False), dtype=np.float64)

    def pull_back(self, e: Floats, f: Floats) -> Floats:
        return self.kernel.pull_back(self.x, e @ f.T, self.matrix)

    def append(self, query: Rows) -> None:
        before, n = self._matrix, len(self)
        super().append(query)
        if before is not None:
            self._matrix = np.empty((len(self), len(self)), dtype=self._type)
            self._matrix[:n, :n] = before
            self._matrix[:, n:] = self.cross(query)
            self._matrix[n:, :n] = self._matrix[:n, n:].T

    def remove(self, rows: Indices) -> None:
        super().remove(rows)
        self._matrix = None
