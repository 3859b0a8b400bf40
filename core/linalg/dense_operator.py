"""The kernel matrix of dense vectors, computed anew for each product or kept."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from core._types import Floats, Indices
from core.drafts import Drafted
from core.kernels import DenseKernel
from core.linalg.operator import check_rows_finite

BLOCK_ROWS = 1024


@dataclass(frozen=True, eq=False)
class DensePredictor:
    """x -> k(x, X) V with X and V at hand."""

    kernel: DenseKernel
    x: Floats  # n x D
    v: Floats  # n x M

    def __call__(self, query: Floats, *, quantised: bool = False) -> Floats:  # noqa: ARG002
        blocks = (query[i : i + BLOCK_ROWS] for i in range(0, len(query), BLOCK_ROWS))
        return np.vstack(
            [np.empty((0, self.v.shape[1])), *(self.kernel.cross(block, self.x) @ self.v for block in blocks)]
        )


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

    def predictor(self, v: Floats) -> DensePredictor:
        return DensePredictor(self.kernel, self.x, v)

    def pull_back(self, e: Floats, f: Floats) -> Floats:
        return self.kernel.pull_back(self.x, e @ f.T)

    def difference(self, query: Floats, beta: Floats) -> DensePredictor:
        return DensePredictor(self.kernel, np.vstack([self.x, query]), np.vstack([-beta, np.eye(len(query))]))

    def only(self, rows: Indices) -> "DenseOperator":
        return DenseOperator(self.x[rows], self.kernel)

    def own(self, rows: Indices) -> Floats:
        return self.x[rows]

    def cross(self, query: Floats, first: int = 0) -> Floats:
        return self.kernel.cross(self.x[first:], query)

    def diagonal(self, query: Floats) -> Floats:
        return self.kernel.diagonal(query)

    def check(self, query: Floats) -> None:
        with np.errstate(over="ignore"):
            check_rows_finite(self.kernel.diagonal(query) + (query * query) @ self.kernel.dim_weights)

    def append(self, query: Floats) -> None:
        n = self._n + len(query)
        if n > len(self._buffer):
            grown = np.empty((2 * n, self._buffer.shape[1]))
            grown[: self._n] = self.x
            self._buffer = grown
        self._buffer[self._n : n] = query
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

    def append(self, query: Floats) -> None:
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
