"""Protocol of kernel matrices that are known by their products."""

from typing import Any, Protocol, Self, runtime_checkable

import numpy as np

from core._types import Floats, Indices
from core.kernels import Kernel
from core.rows import Rows

COLUMNS = 32  # of K at a time in a core: a table of some thousand levels stays in its cache
BLOCK_COLUMNS = 256  # of K at a time in all cores


class Predictor(Protocol):
    """A function of rows; later changes of what made it do not affect it."""

    def __call__(self, query: Rows, *, quantised: bool = False) -> Floats:
        """rows x M. With `quantised`, raw values are first rounded to their nearest level."""
        ...


class KernelExpansion(Predictor, Protocol):
    """The function x -> k(x, X) V for fixed X and V, plus a constant."""

    def for_items(self, by: Floats | None = None) -> "KernelExpansion":
        """The same for pool items alone, times a matrix (M x columns): only what has to be sent to workers."""
        ...


class Operator(Protocol):
    """The kernel matrix K = K(X, X) of n training rows X, by its products."""

    def __len__(self) -> int: ...

    @property
    def kernel(self) -> Kernel:
        """The kernel k."""
        ...

    def with_kernel(self, kernel: Any) -> Self:
        """The same rows under another kernel."""
        ...

    def product(self, v: Floats) -> Floats:
        """K V, n x M."""
        ...

    def predictor(self, v: Floats) -> KernelExpansion:
        """The function x -> k(x, X) V."""
        ...

    def pull_back(self, e: Floats, f: Floats) -> Floats:
        """Gradient of the sum of the columns' e^T K f by the kernel's theta; e and f n x M."""
        ...

    def pull_back_matrix(self, gradient: Floats) -> Floats:
        """Gradient by the kernel's theta of a function whose gradient by K (n x n, symmetric) is given."""
        ...

    def difference(self, query: Rows, beta: Floats) -> KernelExpansion:
        """The functions x -> k(x, query) - k(x, X) beta, one for each row of the query; beta n x rows."""
        ...

    def only(self, rows: Indices) -> Self:
        """An operator of these training rows alone."""
        ...

    def training_rows(self, rows: Indices) -> Rows:
        """The training rows with these indices."""
        ...

    def cross(self, query: Rows, first: int = 0) -> Floats:
        """K(X, query), n x rows; or without the training rows before `first`."""
        ...

    def diagonal(self, query: Rows) -> Floats:
        """k(x, x) of each row of the query."""
        ...

    def check(self, query: Rows) -> None:
        """Raise a ValueError that names the first row whose kernel values are not finite."""
        ...

    def draft(self) -> Self:
        """A shallow copy to change (see core.drafts): rows appended to it or removed do not affect this one."""
        ...

    def append(self, query: Rows) -> None:
        """Add training rows at the end."""
        ...

    @property
    def levels(self) -> Any:
        """The level table of histograms, None for dense vectors, a tuple of both for channels."""
        ...

    def encode(self, query: Rows) -> Rows:
        """Rows as they are stored: the values of histograms become the levels that are nearest."""
        ...

    def learn_levels(self, query: Rows) -> Rows:
        """The same, after new values of histograms have become levels, where there is room; no row is added."""
        ...

    def follow_levels(self, levels: Any) -> None:
        """Take the levels of another operator that have grown from those in use."""
        ...

    def remove(self, rows: Indices) -> None:
        """Drop training rows; the others move up."""
        ...


@runtime_checkable
class HasKernelMatrix(Protocol):
    """An operator that may have K at hand."""

    def kernel_matrix(self) -> Floats | None:
        """K, n x n; None where it is not."""
        ...


def gram(operator: Operator, noise: Floats, out: Floats) -> None:
    """Write the lower triangle of K + diag(noise) into the leading part of `out`."""
    n = len(operator)
    known = operator.kernel_matrix() if isinstance(operator, HasKernelMatrix) else None
    if known is not None:
        out[:n, :n] = known
        np.einsum("ii->i", out)[:n] += noise
        return
    for first in range(0, n, BLOCK_COLUMNS):
        last = min(n, first + BLOCK_COLUMNS)
        out[first:n, first:last] = operator.cross(operator.training_rows(np.arange(first, last)), first)
    np.einsum("ii->i", out)[:n] += noise


def check_rows_finite(sizes: Floats) -> None:
    """Raise a ValueError that names the first row whose kernel with itself is not finite."""
    bad = ~np.isfinite(sizes)
    if bad.any():
        raise ValueError(
            f"the kernel value of row {int(np.argmax(bad))} with itself is not finite: scale the features down"
        )
