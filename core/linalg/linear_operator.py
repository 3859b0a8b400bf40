"""The linear kernel matrix, by products with the table itself: sparse or dense, any number of rows."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from core._types import Floats, Indices, Table
from core.drafts import Drafted
from core.kernels import LinearKernel
from core.linalg.operator import check_rows_finite
from core.rows import Rows, vectors
from core.vectors import PoolVectors


@dataclass(frozen=True, eq=False)
class LinearPredictor:
    """x -> x^T w + constant."""

    w: Floats  # D x M
    constant: Floats  # M

    def __call__(self, query: Rows, *, quantised: bool = False) -> Floats:  # noqa: ARG002
        products = query.times(self.w) if isinstance(query, PoolVectors) else vectors(query) @ self.w
        return np.asarray(products) + self.constant

    def for_items(self, by: Floats | None = None) -> "LinearPredictor":
        return self if by is None else LinearPredictor(self.w @ by, self.constant @ by)


class LinearOperator(Drafted):
    """K = X diag(weights) X^T + bias, never formed: O(nnz) a column (Seeger2008, appendix D.3)."""

    def __init__(self, x: Table, kernel: LinearKernel) -> None:
        self.x = x  # n x D
        self.kernel = kernel

    def __len__(self) -> int:
        return int(self.x.shape[0])

    def with_kernel(self, kernel: LinearKernel) -> "LinearOperator":
        return LinearOperator(self.x, kernel)

    def product(self, v: Floats) -> Floats:
        return self.predictor(v)(self.x)

    def predictor(self, v: Floats) -> LinearPredictor:
        w = self.kernel.dim_weights[:, None] * np.asarray(self.x.T @ v)
        return LinearPredictor(w, self.kernel.bias * v.sum(axis=0))

    def pull_back(self, e: Floats, f: Floats) -> Floats:
        by_dim = np.einsum("dm,dm->d", np.asarray(self.x.T @ e), np.asarray(self.x.T @ f))
        by_group = np.bincount(self.kernel.groups, by_dim, minlength=len(self.kernel.weights))
        return np.array([np.vdot(e.sum(axis=0), f.sum(axis=0)), *by_group])

    def pull_back_matrix(self, gradient: Floats) -> Floats:
        return self.kernel.pull_back(_dense(self.x), gradient)

    def difference(self, query: Rows, beta: Floats) -> LinearPredictor:
        own = _dense(vectors(query)).T
        w = self.kernel.dim_weights[:, None] * (own - np.asarray(self.x.T @ beta))
        return LinearPredictor(w, self.kernel.bias * (1.0 - beta.sum(axis=0)))

    def only(self, rows: Indices) -> "LinearOperator":
        return LinearOperator(self.x[rows], self.kernel)

    def training_rows(self, rows: Indices) -> Table:
        return self.x[rows]

    def cross(self, query: Rows, first: int = 0) -> Floats:
        return _dense(self._scaled(self.x[first:]) @ vectors(query).T) + self.kernel.bias

    def diagonal(self, query: Rows) -> Floats:
        x = vectors(query)
        squares = x.multiply(x) if sp.issparse(x) else x * x
        return np.asarray(squares @ self.kernel.dim_weights) + self.kernel.bias

    def check(self, query: Rows) -> None:
        with np.errstate(over="ignore"):
            check_rows_finite(self.diagonal(query))

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
        if sp.issparse(self.x):
            self.x = sp.vstack([self.x, sp.csr_matrix(vectors(query))], format="csr")
        else:
            self.x = np.vstack([self.x, _dense(vectors(query))])

    def remove(self, rows: Indices) -> None:
        self.x = self.x[np.delete(np.arange(len(self)), rows)]

    def _scaled(self, x: Table) -> Table:
        return x @ sp.diags(self.kernel.dim_weights) if sp.issparse(x) else x * self.kernel.dim_weights


def _dense(x: Table) -> Floats:
    return np.asarray(x.toarray() if sp.issparse(x) else x)
