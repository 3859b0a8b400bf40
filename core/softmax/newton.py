"""Newton-Raphson on the penalised likelihood through kernel products alone (paper 001, sections 2 and 5.1)."""

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning

from core._types import Floats
from core.softmax.joint import JointKernel
from core.softmax.targets import Targets
from core.softmax.uncertain import ConjugateSteps

TOLERANCE = 1e-6
MAX_STEPS = 100
MAX_ROUNDS = 1000
FLAT = 0.1  # share of its slope that a line search may leave


@dataclass(frozen=True, eq=False)
class Fit:
    """The minimum of sum_i -log P(label_i) + a^T K a / 2, for q problems side by side."""

    weights: Floats  # a, n x q x C
    latents: Floats  # K a, n x q x C
    gradient: float  # norm by the latents, relative to that at a = 0; the largest of the problems
    steps: int
    products: int
    converged: bool


class Curvature:
    """W = V V^T, the Hessian of the likelihood by the latents (n x q x C), and systems with I + W K.

    V = (I - pi 1^T) diag(sqrt(pi)) row by row. Rows that are not learnt in a problem have V = 0.
    """

    def __init__(self, joint: JointKernel, probabilities: Floats, held: NDArray[np.bool_]) -> None:
        self._joint = joint
        self._pi = np.where(held[:, :, None], probabilities, 0.0)
        self._root = np.sqrt(self._pi)
        # Diagonal of I + V^T K V (paper 001, appendix B).
        w = joint.own_product(self._pi)
        middle = (self._pi * w).sum(axis=2, keepdims=True)
        self._diagonal = 1.0 + self._pi * np.maximum(joint.diagonal - 2.0 * w + middle, 0.0)
        self.products = 0

    def out(self, v: Floats) -> Floats:
        """V v."""
        scaled = self._root * v
        return np.asarray(scaled - self._pi * scaled.sum(axis=2, keepdims=True))

    def back(self, v: Floats) -> Floats:
        """V^T v."""
        return np.asarray(self._root * (v - (self._pi * v).sum(axis=2, keepdims=True)))

    def solve(self, h: Floats, tolerance: Floats, max_rounds: int = MAX_ROUNDS) -> tuple[Floats, Floats]:
        """s = (I + W K)^-1 h and K s, until |h - (I + W K) s| is below the tolerance of each problem.

        s = h - V b with (I + V^T K V) b = V^T K h, by preconditioned conjugate gradients. Nothing is divided by
        probabilities, however small, so that none needs the exceptions of paper 001, appendix B; and h^T K s > 0
        whenever the rounds end, so that -s goes down where h is the gradient.
        """
        s, ks = h, self._product(h)
        r = self.back(ks)
        z = r / self._diagonal
        d, rz = z, _dots(r, z)
        for _ in range(max_rounds):
            if (np.sqrt(_dots(*[self.out(r)] * 2)) <= tolerance).all():
                break
            vd = self.out(d)
            kvd = self._product(vd)
            ad = d + self.back(kvd)
            step = _ratio(rz, _dots(d, ad))[:, None]
            s, ks, r = s - step * vd, ks - step * kvd, r - step * ad
            z = r / self._diagonal
            before, rz = rz, _dots(r, z)
            d = z + _ratio(rz, before)[:, None] * d
        return s, ks

    def _product(self, v: Floats) -> Floats:
        self.products += 1
        return self._joint.product(v)


def fit(
    joint: JointKernel,
    targets: Targets,
    held: NDArray[np.bool_] | None = None,
    weights: Floats | None = None,
    latents: Floats | None = None,
    *,
    offset: Floats | float = 0.0,
    tolerance: float = TOLERANCE,
    max_steps: int = MAX_STEPS,
) -> Fit:
    """Minimise from given weights (and their latents K a, if known); `held` says which rows each problem learns.

    Where labels are uncertain, each Newton step is the M step of a generalised EM with the E step of that moment, made
    conjugate to the last: the likelihood of the labels never falls, and the gradient that is to vanish is its own.
    `offset` is added to all latents: what rows outside of this problem contribute.
    """
    n, n_classes = targets.allowed.shape
    if not targets.allowed.size:  # nothing is learnt
        nothing = np.zeros((n, 1 if held is None else held.shape[1], n_classes))
        return Fit(nothing, nothing, 0.0, 0, 0, converged=True)
    held = np.ones((n, 1), dtype=bool) if held is None else held
    learnt = held[:, :, None]
    a = np.zeros((n, held.shape[1], n_classes)) if weights is None else _centred(weights) * learnt
    u = latents if latents is not None else joint.product(a) if a.any() else np.zeros_like(a)
    products = int(latents is None and bool(a.any()))
    first = targets.expected(np.full((n, 1, n_classes), 1.0 / n_classes)) - 1.0 / n_classes
    scale = np.maximum(np.sqrt(_dots(first * learnt, first * learnt)), 1e-12)
    conjugate = ConjugateSteps(targets, learnt.astype(np.float64), offset) if len(targets.uncertain) else None
    for steps in range(max_steps + 1):
        pi = softmax(u + offset, axis=2)
        q = targets.expected(pi)
        g = (pi - q) * learnt + a
        left = np.sqrt(_dots(g, g)) / scale
        open_ = left > tolerance
        if not open_.any() or steps == max_steps:
            break
        g = g * open_[:, None]
        curvature = Curvature(joint, pi, held)
        # Superlinear, but no closer than is asked for.
        forcing = np.maximum(np.minimum(0.1, np.sqrt(left)), 0.3 * tolerance / np.maximum(left, tolerance))
        s, ks = curvature.solve(g, forcing * left * scale)
        products += curvature.products
        if conjugate is not None:
            step, move = conjugate(a, u, g, s, ks)
            a, u = a + step, u + move
            continue
        length = _line_search(u + offset, a, q, learnt, -s, -ks)[:, None]
        a, u = a - length * s, u - length * ks
    converged = not open_.any()
    if not converged:
        warnings.warn(
            f"the softmax fit stopped after {max_steps} Newton steps at a relative gradient of {left.max():.1e}, not "
            f"{tolerance:g}: lower the variances, or raise the tolerance",
            ConvergenceWarning,
            stacklevel=2,
        )
    return Fit(a, u, float(left.max()), steps, products, converged)


def _line_search(
    u: Floats, a: Floats, q: Floats, learnt: NDArray[np.bool_], s: Floats, ks: Floats, max_trials: int = 30
) -> Floats:
    """How far to go in each problem: nearly to the minimum along (s, K s), which needs no product (section 5.1.2)."""
    length = np.ones(u.shape[1])
    low, high = np.zeros_like(length), np.full_like(length, np.inf)
    first = None
    for _ in range(max_trials):
        pi = softmax(u + length[:, None] * ks, axis=2)
        if first is None:
            first = np.abs(_dots((softmax(u, axis=2) - q) * learnt + a, ks))
        slope = _dots((pi - q) * learnt + a + length[:, None] * s, ks)
        if (np.abs(slope) <= FLAT * first).all():
            break
        mean = (pi * ks).sum(axis=2, keepdims=True)
        bend = _dots(pi * learnt, (ks - mean) ** 2) + _dots(s, ks)
        high, low = np.where(slope > 0.0, length, high), np.where(slope > 0.0, low, length)
        newton = length - _ratio(slope, bend)
        inside = (newton > low) & (newton < high)
        halves = np.where(np.isfinite(high), (low + high) / 2, 2.0 * low)
        length = np.where(np.abs(slope) <= FLAT * first, length, np.where(inside, newton, halves))
    return length


def _centred(weights: Floats) -> Floats:
    """Taken into the range of W: weights of a row sum to zero."""
    return np.asarray(weights - weights.mean(axis=2, keepdims=True))


def _dots(a: Floats, b: Floats) -> Floats:
    """Inner product of each problem, q."""
    return np.asarray(np.einsum("nqc,nqc->q", a, b))


def _ratio(a: Floats, b: Floats) -> Floats:
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0.0)
