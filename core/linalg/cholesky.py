"""A Cholesky factor that follows its matrix: rows appended and deleted, rank-one changes."""

from collections.abc import Callable

import numpy as np

from core._jit import factor as kernels
from core._parallel import over_slices
from core._types import Floats
from core.linalg import lapack

SPARE = 32
JITTERS = (0.0, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-8)


def with_room(n: int) -> Floats:
    """A column-major n x n matrix of zeros in the leading part of a larger one."""
    return np.zeros((n + SPARE, n + SPARE), order="F")


def grown(buffer: Floats, n: int) -> Floats:
    """The same matrix with room for one more row and column after the first n; mostly the same buffer."""
    if n < len(buffer):
        return buffer
    larger = with_room(n + n // 16)
    larger[:n, :n] = buffer
    return larger


class Factor:
    """L with L L^T = A, in the leading n x n part of a buffer with room for more.

    `fill(out)` writes the lower triangle of A; it is called again with a larger ridge when rounding made A indefinite,
    and `jitter` tells by which share the diagonal had to grow.

    >>> factor = Factor(2, lambda out: np.copyto(out[:2, :2], [[4.0, 0.0], [2.0, 5.0]]))
    >>> factor.solve(np.array([[4.0], [2.0]])).tolist()
    [[1.0], [0.0]]
    """

    def __init__(self, n: int, fill: Callable[[Floats], object]) -> None:
        self.n = n
        self._buffer = with_room(n)
        diagonal = np.einsum("ii->i", self._buffer)[:n]
        for self.jitter in JITTERS:
            fill(self._buffer)
            diagonal *= 1.0 + self.jitter
            if lapack.cholesky(self._buffer, n) and np.isfinite(diagonal).all():
                return
        raise np.linalg.LinAlgError(
            f"the {n} x {n} system is not positive definite even with {JITTERS[-1]:g} of its diagonal added: "
            "raise the noise or scale the features"
        )

    def half_solve(self, b: Floats, *, overwrite: bool = False) -> Floats:
        """L^-1 b, n x columns; in the place of b, if that is allowed and b is column-major."""
        b = np.asfortranarray(b) if overwrite else np.array(b, order="F")
        lapack.solve_triangular(self._buffer, self.n, b)
        return b

    def quadratic(self, b: Floats) -> Floats:
        """b^T A^-1 b, columns x columns, lower triangle; a column-major b is used up."""
        return lapack.gram(self.half_solve(b, overwrite=True))

    def solve(self, b: Floats) -> Floats:
        """A^-1 b, n x columns."""
        b = self.half_solve(b)
        lapack.solve_triangular(self._buffer, self.n, b, transposed=True)
        return b

    def last_of_inverse(self) -> Floats:
        """The last column of A^-1, n x 1: L^-1 of the last unit vector is known, so one back substitution does."""
        column = np.zeros((self.n, 1))
        column[-1] = 1.0 / self._buffer[self.n - 1, self.n - 1]
        lapack.solve_triangular(self._buffer, self.n, column, transposed=True)
        return column

    def inverse(self) -> Floats:
        """A^-1, n x n."""
        inverse = np.array(self._buffer[: self.n, : self.n], order="F")
        lapack.inverse_from_cholesky(inverse, self.n)
        over_slices(lambda lo, hi: kernels.mirror(inverse, lo, hi), self.n, self.n**2)
        return inverse

    def log_determinant(self) -> float:
        """log |A|."""
        return float(2.0 * np.log(np.diagonal(self._buffer)[: self.n]).sum())

    def append(self, column: Floats, corner: float) -> bool:
        """Add a row and column to A: `column` n, `corner` its diagonal. False (nothing changed) if not positive."""
        row = self.half_solve(column[:, None])[:, 0]
        square = corner - row @ row
        if not square > 1e-12 * corner:
            return False
        self._buffer = grown(self._buffer, self.n)
        self._buffer[self.n, : self.n] = row
        self._buffer[self.n, self.n] = np.sqrt(square)
        self.n += 1
        return True

    def delete(self, j: int) -> None:
        """Remove row and column j of A."""
        below = np.zeros(self.n)
        below[j + 1 :] = self._buffer[j + 1 : self.n, j]
        kernels.update(self._buffer, self.n, below, j + 1)
        kernels.close_gap(self._buffer, self.n, j)
        self.n -= 1

    def update(self, v: Floats) -> None:
        """A + v v^T."""
        kernels.update(self._buffer, self.n, v.copy(), _first(v))

    def downdate(self, v: Floats) -> bool:
        """A - v v^T. False if rounding made it indefinite: the factor is then useless and must be built again."""
        return bool(kernels.downdate(self._buffer, self.n, v.copy(), _first(v)) == self.n)

    def scale_row(self, j: int, share: float) -> None:
        """Multiply row and column j of A by `share` (its corner by the square)."""
        self._buffer[j, : j + 1] *= share


def _first(v: Floats) -> int:
    """Where v begins to differ from zero: all before stays as it is."""
    return int(np.argmax(v != 0.0)) if v.any() else len(v)
