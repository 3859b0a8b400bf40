"""A Cholesky factor that is updated: rows appended and deleted, rank-one changes."""

from collections.abc import Callable
from typing import Self
from weakref import ref

import numpy as np
from scipy.linalg import cho_solve

from core._jit import factor as kernels
from core._parallel import over_slices
from core._types import Floats
from core.drafts import Drafted
from core.linalg import lapack

SPARE = 32
JITTERS = (0.0, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-8)


def with_room(n: int) -> Floats:
    """A column-major n x n matrix of zeros in the leading part of a larger one."""
    return np.zeros((n + SPARE, n + SPARE), order="F")


def grown(buffer: Floats, n: int, more: int = 1) -> Floats:
    """The same matrix with room for more rows and columns after the first n; mostly the same buffer."""
    if n + more <= len(buffer):
        return buffer
    larger = with_room(n + max(n // 16, more))
    larger[:n, :n] = buffer[:n, :n]
    return larger


class SharedBuffer:
    """A buffer that several factors may read. Its predecessor is reused as memory once no factor holds it.

    New memory would have to be cleared at each change, which takes as long as the change itself.
    """

    def __init__(self, buffer: Floats, before: "SharedBuffer | None" = None) -> None:
        self.buffer = buffer
        self._before = None if before is None else (ref(before), before.buffer)

    def __reduce__(self) -> "tuple[type[SharedBuffer], tuple[Floats]]":
        return SharedBuffer, (self.buffer,)

    def spare(self) -> "SharedBuffer":
        """Another buffer of the same size that no factor holds; its contents are undefined."""
        before, self._before = self._before, None  # nobody else gets it
        free = before is not None and before[0]() is None
        return SharedBuffer(before[1] if before and free else np.zeros(self.buffer.shape, order="F"), self)


class Factor(Drafted):
    """L with L L^T = A, in the leading n x n part of a buffer with room for more.

    `fill(out)` writes the lower triangle of A; it is called again with a larger ridge when rounding made A indefinite,
    and `jitter` is the share by which the diagonal had to grow.

    >>> factor = Factor(2, lambda out: np.copyto(out[:2, :2], [[4.0, 0.0], [2.0, 5.0]]))
    >>> factor.solve(np.array([[4.0], [2.0]])).tolist()
    [[1.0], [0.0]]
    """

    def __init__(self, n: int, fill: Callable[[Floats], object]) -> None:
        self.n = n
        self._shared_buffer = SharedBuffer(with_room(n))
        self._shared = False  # with a draft, or with what this is a draft of
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

    def draft(self) -> Self:
        """A shallow copy to change (see core.drafts)."""
        self._shared = True
        return super().draft()

    @property
    def _buffer(self) -> Floats:
        return self._shared_buffer.buffer

    @property
    def lower(self) -> Floats:
        """L, n x n; what stands above its diagonal means nothing."""
        return self._buffer[: self.n, : self.n]

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
        return self.other_half(self.half_solve(b), overwrite=True)

    def other_half(self, halves: Floats, *, overwrite: bool = False) -> Floats:
        """A^-1 b from L^-1 b, n x columns; in its place, if that is allowed and it is column-major."""
        b = np.asfortranarray(halves) if overwrite else np.array(halves, order="F")
        lapack.solve_triangular(self._buffer, self.n, b, transposed=True)
        return b

    def solve_last(self, b: Floats) -> Floats:
        """The last k rows of A^-1 [0; b], for b of k rows: only the corner of L matters to them."""
        corner = self.lower[self.n - len(b) :, self.n - len(b) :]
        return np.asarray(cho_solve((corner, True), b))

    def inverse(self) -> Floats:
        """A^-1, n x n."""
        inverse = np.array(self._buffer[: self.n, : self.n], order="F")
        lapack.inverse_from_cholesky(inverse, self.n)
        over_slices(lambda lo, hi: kernels.mirror(inverse, lo, hi), self.n, self.n**2)
        return inverse

    def log_determinant(self) -> float:
        """log |A|."""
        return float(2.0 * np.log(np.diagonal(self._buffer)[: self.n]).sum())

    def append(self, columns: Floats, corner: Floats, halves: Floats | None = None) -> bool:
        """Add k rows and columns to A: `columns` n x k, `corner` k x k. False (nothing changed) if not positive.

        `halves` are L^-1 columns, where they are known.
        """
        halves, k = self.half_solve(columns) if halves is None else halves, len(corner)
        try:
            factor = np.linalg.cholesky(corner - halves.T @ halves)
        except np.linalg.LinAlgError:
            return False
        if not (np.diagonal(factor) ** 2 > 1e-12 * np.diagonal(corner)).all():
            return False
        buffer = grown(self._buffer, self.n, k)
        if buffer is not self._buffer:
            self._shared_buffer, self._shared = SharedBuffer(buffer), False
        self._buffer[self.n : self.n + k, : self.n] = halves.T
        self._buffer[self.n : self.n + k, self.n : self.n + k] = factor
        self.n += k
        return True

    def delete(self, j: int) -> None:
        """Remove row and column j of A."""
        self._own()
        below = np.zeros(self.n)
        below[j + 1 :] = self._buffer[j + 1 : self.n, j]
        kernels.update(self._buffer, self._buffer, False, self.n, below, j + 1)
        kernels.close_gap(self._buffer, self.n, j)
        self.n -= 1

    def update(self, v: Floats) -> None:
        """A + v v^T."""
        source, apart = self._apart()
        kernels.update(source, self._buffer, apart, self.n, v.copy(), _first(v))

    def downdate(self, v: Floats) -> bool:
        """A - v v^T. False if rounding made it indefinite: the factor is then useless and must be built again."""
        source, apart = self._apart()
        return bool(kernels.downdate(source, self._buffer, apart, self.n, v.copy(), _first(v)) == self.n)

    def scale_row(self, j: int, share: float) -> None:
        """Multiply row and column j of A by `share` (its corner by the square)."""
        self._own()
        self._buffer[j, : j + 1] *= share

    def _own(self) -> None:
        """Copy the buffer before entries change, if others read it. (Appended rows come after those they read.)"""
        if self._shared:
            self._shared_buffer, self._shared = SharedBuffer(self._buffer.copy(order="F")), False

    def _apart(self) -> tuple[Floats, bool]:
        """The same for a rank-one change, which copies as it goes: the buffer to read, and whether it is another."""
        source, apart = self._buffer, self._shared
        if apart:
            self._shared_buffer, self._shared = self._shared_buffer.spare(), False
        return source, apart


def _first(v: Floats) -> int:
    """Where v begins to differ from zero: all before stays as it is."""
    return int(np.argmax(v != 0.0)) if v.any() else len(v)
