"""Block conjugate gradients: all right-hand sides share one search space (O'Leary 1980, Dubrulle 2001)."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from core._types import Floats

Multiply = Callable[[Floats], Floats]


@dataclass(frozen=True)
class CGResult:
    """What the solver reached: `residual` is the largest column of |B - A X| / |B|."""

    x: Floats  # n x M
    rounds: int
    residual: float
    converged: bool


def block_cg(
    multiply: Multiply,
    b: Floats,
    x: Floats | None = None,
    *,
    precondition: Multiply = lambda r: r,
    tolerance: float = 1e-8,
    max_rounds: int = 1000,
) -> CGResult:
    """Solve A X = B for a symmetric positive A that is known by its products only; X may start anywhere.

    The residual block is kept as Q C with Q orthonormal in the preconditioner's inner product, so that directions that
    have become dependent (or were from the start) drop out instead of breaking the recursion. Dropping is final, so
    the recursion starts again from the true residual until that is small enough. The answer is never farther from the
    solution, in the norm of A, than the start.

    >>> result = block_cg(lambda v: np.diag([1.0, 2.0, 4.0]) @ v, np.array([[1.0], [2.0], [4.0]]))
    >>> result.x.round(6).tolist(), result.converged
    ([[1.0], [1.0], [1.0]], True)
    """
    scale = np.linalg.norm(b, axis=0)
    scale[scale == 0.0] = 1.0
    b = b / scale
    x = np.zeros_like(b) if x is None else x / scale
    rounds = 0
    residual = b - multiply(x) if x.any() else b
    reached = _largest(residual)
    while reached > tolerance and rounds < max_rounds:
        before = reached
        moved, rounds = _descend(multiply, precondition, x, residual, tolerance, rounds, max_rounds)
        moved_residual = b - multiply(moved)
        # Near the solution the gain in energy drowns in rounding, while the residual still falls.
        if not (_largest(moved_residual) < reached or _energy(moved, b, moved_residual) < _energy(x, b, residual)):
            break
        x, residual = moved, moved_residual
        reached = _largest(residual)
        if not reached < 0.99 * before:
            break  # rounding, not rounds, is the limit
    return CGResult(x * scale, rounds, reached, reached <= tolerance)


def _descend(
    multiply: Multiply,
    precondition: Multiply,
    x: Floats,
    residual: Floats,
    tolerance: float,
    rounds: int,
    max_rounds: int,
) -> tuple[Floats, int]:
    """Rounds of the recursion from this residual until it reports half the tolerance."""
    q, z, c = _orthonormal(residual, precondition(residual))
    p = z
    while rounds < max_rounds:
        rounds += 1
        product = multiply(p)
        curvature = p.T @ product
        step = scipy.linalg.lstsq(curvature, np.eye(len(curvature)))[0]
        x = x + p @ (step @ c)
        q = q - product @ step
        if _largest(q @ c) <= tolerance / 2:
            break
        q, z, zeta = _orthonormal(q, precondition(q))
        if not q.size:
            break
        p = z + p @ zeta.T
        c = zeta @ c
    return x, rounds


def _orthonormal(r: Floats, z: Floats) -> tuple[Floats, Floats, Floats]:
    """Q, M^-1 Q and C with R = Q C and Q^T M^-1 Q = I, given R and Z = M^-1 R; dependent directions are dropped."""
    gram = r.T @ z
    values, vectors = np.linalg.eigh((gram + gram.T) / 2)
    kept = values > 1e-14 * max(values[-1], 0.0)
    root = np.sqrt(values[kept])
    basis = vectors[:, kept]
    return r @ (basis / root), z @ (basis / root), root[:, None] * basis.T


def _energy(x: Floats, b: Floats, residual: Floats) -> float:
    """x^T A x / 2 - b^T x, which conjugate gradients lower in each round (the residual may rise for a while)."""
    return float(-np.vdot(x, b + residual) / 2)


def _largest(residual: Floats) -> float:
    return float(np.linalg.norm(residual, axis=0).max(initial=0.0))
