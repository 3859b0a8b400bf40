"""A kernel matrix that is never stored: what posteriors need to know of it."""

from typing import Any, Protocol, Self

import numpy as np

from core._types import Floats, Indices
from core.histograms import CodedRows, RawRows
from core.kernels import Kernel

COLUMNS = 32  # of K at a time in a core: a table of some thousand levels stays in its cache
BLOCK_COLUMNS = 256  # of K at a time in all cores

Query = RawRows | CodedRows | Floats
"""Rows to predict: raw or coded for histogram kernels, a dense block for the others."""


class Predictor(Protocol):
    """x -> k(x, X) V for fixed X and V; unchanged by whatever happens to the posterior it came from."""

    def __call__(self, query: Any, *, quantised: bool = False) -> Floats:
        """rows x M. With `quantised`, raw values are taken to their nearest level first."""
        ...


class Operator(Protocol):
    """K(X, X) of n training rows, as products."""

    def __len__(self) -> int: ...

    @property
    def kernel(self) -> Kernel:
        """What the rows are compared by."""
        ...

    def with_kernel(self, kernel: Any) -> Self:
        """The same rows under another kernel."""
        ...

    def product(self, v: Floats) -> Floats:
        """K V, n x M."""
        ...

    def predictor(self, v: Floats) -> Predictor:
        """The function x -> k(x, X) V."""
        ...

    def pull_back(self, e: Floats, f: Floats) -> Floats:
        """Gradient of the sum of the columns' e^T K f by the kernel's theta; e and f n x M."""
        ...

    def difference(self, query: Any, beta: Floats) -> Predictor:
        """The functions x -> k(x, query) - k(x, X) beta, one for each row of the query; beta n x rows."""
        ...

    def only(self, rows: Indices) -> Self:
        """An operator of these training rows alone."""
        ...

    def own(self, rows: Indices) -> Any:
        """The training rows with these numbers, as a query."""
        ...

    def cross(self, query: Any, first: int = 0) -> Floats:
        """K(X, query), n x rows; or without the training rows before `first`."""
        ...

    def diagonal(self, query: Any) -> Floats:
        """k(x, x) of each row of the query."""
        ...

    def check(self, query: Any) -> None:
        """Raise a ValueError that names the first row whose kernel values are not finite."""
        ...

    def draft(self) -> Self:
        """A twin whose rows come and go without these (see core.drafts); costs nothing."""
        ...

    def append(self, query: Any) -> None:
        """Add training rows at the end."""
        ...

    def remove(self, rows: Indices) -> None:
        """Drop training rows; the others move up."""
        ...


def gram(operator: Operator, noise: Floats, out: Floats) -> None:
    """Write the lower triangle of K + diag(noise) into the leading part of `out`."""
    n = len(operator)
    for first in range(0, n, BLOCK_COLUMNS):
        last = min(n, first + BLOCK_COLUMNS)
        out[first:n, first:last] = operator.cross(operator.own(np.arange(first, last)), first)
    np.einsum("ii->i", out)[:n] += noise


def check_rows_finite(sizes: Floats) -> None:
    """Raise a ValueError that names the first row whose kernel with itself is not finite."""
    bad = ~np.isfinite(sizes)
    if bad.any():
        raise ValueError(
            f"the kernel value of row {int(np.argmax(bad))} with itself is not finite: scale the features down"
        )
