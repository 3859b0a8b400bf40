"""Largest eigenpairs of a matrix that is known by its products."""

from collections.abc import Callable

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh

from core._types import Floats

SMALL = 64


def largest_eigenpairs(multiply: Callable[[Floats], Floats], n: int, k: int) -> tuple[Floats, Floats]:
    """The k largest eigenvalues, descending, and their vectors (n x k) of a symmetric n x n matrix; k <= n.

    >>> values, vectors = largest_eigenpairs(lambda v: np.diag([1.0, 5.0, 3.0]) @ v, 3, 2)
    >>> values.round(6).tolist()
    [5.0, 3.0]
    """
    if n <= max(SMALL, 2 * k):
        values, vectors = np.linalg.eigh(multiply(np.eye(n)))
    else:
        operator = LinearOperator((n, n), matvec=lambda v: multiply(v.reshape(n, 1))[:, 0], dtype=np.float64)
        # A start of its own makes the result the same each time; all ones is near the first vector of a kernel matrix.
        start = np.ones(n) + 0.1 * np.cos(np.arange(n))
        values, vectors = eigsh(operator, k=k, v0=start)
    order = np.argsort(values)[::-1][:k]
    return np.asarray(values[order]), np.asarray(vectors[:, order])
