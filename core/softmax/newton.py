"""Newton-Raphson on the penalised likelihood through kernel products alone (Seeger2008, sections 2 and 5.1)."""

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from core._types import Floats
from core.softmax.conjugate_steps import ConjugateSteps
from core.softmax.curvature import Curvature, dots, ratio, row_dots
from core.softmax.joint import JointKernel
from core.softmax.subspace import Subspace
from core.softmax.targets import Targets

TOLERANCE = 1e-6
# Until the gradient is as small as ROUGH a step may be along the gradient by the latents, the steepest way down in the
# norm of K, made conjugate to the last: a product a step and no system. That took half of the products (satimage,
# n = 1,600, five folds: 167 in place of 386). Where variances are too large for that, Newton takes over.
ROUGH = 1e-4
MAX_CONJUGATE_STEPS = 300
MAX_STEPS = 100
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


def fit(
    joint: JointKernel,
    targets: Targets,
    counts: Floats | None = None,
    weights: Floats | None = None,
    latents: Floats | None = None,
    *,
    offset: Floats | float = 0.0,
    past: Subspace | None = None,
    newton: bool = True,
    tolerance: float = TOLERANCE,
    max_steps: int = MAX_STEPS,
) -> Fit:
    """Minimise from given weights (and their latents K a, if known); `counts` is the weight of each row's likelihood.

    Where labels are uncertain, each Newton step is the M step of a generalised EM with the E step of that moment, made
    conjugate to the last: the likelihood of the labels never falls, and the gradient that is to vanish is its own.
    `offset` is added to all latents: what rows outside of this problem contribute. `past` has directions of earlier
    fits, for one problem; their products carry rounding errors, so that the fit ends only when the gradient is small
    with K a computed anew, too. Without `newton`, steps are conjugate ones at first (see MAX_CONJUGATE_STEPS).
    """
    n, n_classes = targets.allowed.shape
    counts = np.ones((n, 1)) if counts is None else counts
    row_counts = counts[:, :, None]
    if not targets.allowed.size:  # there are no labels
        nothing = np.zeros((n, counts.shape[1], n_classes))
        return Fit(nothing, nothing, 0.0, 0, 0, converged=True)
    a = np.zeros((n, counts.shape[1], n_classes)) if weights is None else _centred(weights) * (row_counts > 0.0)
    u = latents if latents is not None else joint.product(a) if a.any() else np.zeros_like(a)
    products = int(latents is None and bool(a.any()))
    scale = _first_gradient(targets, row_counts)
    conjugate = ConjugateSteps(targets, row_counts, offset)
    steps, exact, checked = 0, True, False  # exact: u is K a but for rounding
    while True:
        pi = softmax(u + offset, axis=2)
        q = targets.expected(pi)
        g = (pi - q) * row_counts + a
        left = np.sqrt(dots(g, g)) / scale
        open_ = left > tolerance
        if not open_.any() or steps == max_steps:
            if exact:
                break
            u, products, exact, checked = joint.product(a), products + 1, True, True
            continue
        if checked and past is not None:  # the products of its directions were not good enough
            past.clear()
        g, steps, exact, checked = g * open_[:, None], steps + 1, past is None, False
        newton = newton or steps >= MAX_CONJUGATE_STEPS or bool((left <= ROUGH).all())
        if newton:
            curvature = Curvature(joint, pi, counts)
            s, ks = curvature.solve(g, _forcing(left, tolerance) * left * scale, past=past)
            products += curvature.products
        else:
            s, ks, products = g, joint.product(g), products + 1
        if len(targets.uncertain) or not newton:
            step, move = conjugate(a, u, g, s, ks)
            a, u = a + step, u + move
            continue
        length = _line_search(u + offset, a, q, row_counts, -s, -ks, dots(g, ks))[:, None]
        a, u = a - length * s, u - length * ks
    if open_.any():
        _warn(steps, float(left.max()), tolerance)
    return Fit(a, u, float(left.max()), steps, products, not open_.any())


def _first_gradient(targets: Targets, row_counts: Floats) -> Floats:
    """The norm of the gradient by the latents at a = 0, of each problem."""
    n, n_classes = targets.allowed.shape
    first = (targets.expected(np.full((n, 1, n_classes), 1.0 / n_classes)) - 1.0 / n_classes) * row_counts
    return np.asarray(np.maximum(np.sqrt(dots(first, first)), 1e-12))


def _forcing(left: Floats, tolerance: float) -> Floats:
    """Share of the gradient that a Newton system may leave: superlinear, but no closer than is asked for."""
    return np.asarray(np.maximum(np.minimum(0.1, np.sqrt(left)), 0.5 * tolerance / np.maximum(left, tolerance)))


def _warn(steps: int, left: float, tolerance: float) -> None:
    from sklearn.exceptions import ConvergenceWarning

    warnings.warn(
        f"the softmax fit stopped after {steps} steps at a relative gradient of {left:.1e}, not {tolerance:g}: "
        "lower the variances, or raise the tolerance",
        ConvergenceWarning,
        stacklevel=3,
    )


def downhill(targets: Targets, counts: Floats, a: Floats, u: Floats, s: Floats, ks: Floats) -> Floats:
    """How far to go from weights a with latents u along (s, K s), in each problem."""
    pi, row_counts = softmax(u, axis=2), counts[:, :, None]
    q = targets.expected(pi)
    return _line_search(u, a, q, row_counts, s, ks, -dots((pi - q) * row_counts + a, ks))


def _line_search(
    u: Floats, a: Floats, q: Floats, row_counts: Floats, s: Floats, ks: Floats, fall: Floats, max_trials: int = 30
) -> Floats:
    """Nearly to the minimum along (s, K s), which needs no product; `fall` is how steep it begins (section 5.1.2)."""
    length = np.ones(u.shape[1])
    low, high = np.zeros_like(length), np.full_like(length, np.inf)
    for _ in range(max_trials):
        pi = softmax(u + length[:, None] * ks, axis=2)
        slope = dots((pi - q) * row_counts + a + length[:, None] * s, ks)
        flat = np.abs(slope) <= FLAT * fall
        if flat.all():
            break
        bend = dots(pi * row_counts, (ks - row_dots(pi, ks)) ** 2) + dots(s, ks)
        high, low = np.where(slope > 0.0, length, high), np.where(slope > 0.0, low, length)
        newton = length - ratio(slope, bend)
        inside = (newton > low) & (newton < high)
        halves = np.where(np.isfinite(high), (low + high) / 2, 2.0 * low)
        length = np.where(flat, length, np.where(inside, newton, halves))
    return length


def _centred(weights: Floats) -> Floats:
    """Taken into the range of W: weights of a row sum to zero."""
    return np.asarray(weights - weights.mean(axis=2, keepdims=True))
