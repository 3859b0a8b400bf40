"""Conjugate steps: faster than EM where labels name inner nodes (Seeger2008, section 7.4.2), and without systems."""

import numpy as np
from scipy.special import softmax

from core._types import Floats
from core.softmax.curvature import dots, ratio
from core.softmax.targets import Targets

FLAT = 0.05  # share of its slope that a line search may leave
MAX_TRIALS = 40


class ConjugateSteps:
    """Newton steps that take the classes of uncertain rows as known are M steps: they creep where much is unknown.

    So each is made conjugate to the last one, and goes to the minimum of the likelihood of the labels itself
    (Jamshidian and Jennrich 1993).
    """

    def __init__(self, targets: Targets, row_counts: Floats, offset: Floats | float) -> None:
        self._targets, self._row_counts, self._offset = targets, row_counts, offset
        self._last: tuple[Floats, Floats, Floats, Floats] | None = None  # gradient, direction, its product, its slope

    def __call__(self, a: Floats, u: Floats, g: Floats, s: Floats, ks: Floats) -> tuple[Floats, Floats]:
        """How a and u = K a change, by the gradient g there and the Newton step -s with -K s."""
        fall = dots(g, ks)
        d, kd = s, ks
        if self._last is not None:
            before, d_last, kd_last, fall_last = self._last
            turn = np.maximum(ratio(fall - dots(before, ks), fall_last), 0.0)[:, None]
            d, kd = s + turn * d_last, ks + turn * kd_last
            uphill = (dots(g, kd) <= 0.0)[:, None]
            d, kd = np.where(uphill, s, d), np.where(uphill, ks, kd)
        self._last = g, d, kd, fall
        length = self._search(a, u, -d, -kd)[:, None]
        return -length * d, -length * kd

    def _search(self, a: Floats, u: Floats, d: Floats, kd: Floats) -> Floats:
        """How far to go along d, in each problem."""
        length, first = np.zeros(u.shape[1]), None
        low, high = np.zeros_like(length), np.full_like(length, np.inf)
        for _ in range(MAX_TRIALS):
            pi = softmax(u + self._offset + length[:, None] * kd, axis=2)
            q = self._targets.expected(pi)
            slope = dots((pi - q) * self._row_counts + a + length[:, None] * d, kd)
            spread = _spread(pi, kd) - _spread(q, kd) if len(self._targets.uncertain) else _spread(pi, kd)
            bend = dots(self._row_counts, spread) + dots(d, kd)
            if first is None:
                first = np.abs(slope)
            elif (np.abs(slope) <= FLAT * first).all():
                break
            high, low = np.where(slope > 0.0, length, high), np.where(slope > 0.0, low, length)
            newton = length - ratio(slope, bend)
            inside = (newton > low) & (newton < high)
            halves = np.where(np.isfinite(high), (low + high) / 2, np.maximum(2.0 * low, 1.0))
            length = np.where(inside, newton, halves)
        return length


def _spread(p: Floats, v: Floats) -> Floats:
    """Terms of the variance of v under the distribution p of each row."""
    return np.asarray(p * (v - (p * v).sum(axis=2, keepdims=True)) ** 2)
