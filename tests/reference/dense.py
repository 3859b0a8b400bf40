"""Slow and obvious twins of what core computes fast."""

from dataclasses import dataclass

import numpy as np


def transformed(x, transform=None, eta=1.0):
    if transform == "power":
        return np.where(x > 0, x**eta, 0.0)
    if transform == "exp":
        return np.expm1(eta * x) / np.expm1(eta)
    return x


def hik(a, b, *, transform=None, eta=1.0, weights=None, bias=0.0):
    """K(a, b) of the histogram intersection kernel, one dimension at a time (Rodner2012, eq. 7 and 8)."""
    a, b = transformed(np.asarray(a, float), transform, eta), transformed(np.asarray(b, float), transform, eta)
    weights = np.ones(a.shape[1]) if weights is None else np.asarray(weights)
    total = np.full((len(a), len(b)), float(bias))
    for d in range(a.shape[1]):
        total += weights[d] * np.minimum(a[:, d][:, None], b[:, d])
    return total


@dataclass
class DenseGP:
    """Textbook equations: mean k*^T (K + N)^-1 Y, variance k** - k*^T (K + N)^-1 k*."""

    K: np.ndarray
    Y: np.ndarray
    noise: np.ndarray

    def means(self, cross):
        return cross.T @ np.linalg.solve(self.K + np.diag(self.noise), self.Y)

    def variance(self, cross, own):
        return own - np.einsum("nb,nb->b", cross, np.linalg.solve(self.K + np.diag(self.noise), cross))


def targets(labels, n_classes):
    return np.where(np.asarray(labels)[:, None] == np.arange(n_classes), 1.0, -1.0)


def nearest_level(value, levels):
    """Zero counts as a level; half way goes up."""
    best = 0.0
    for level in sorted(levels):
        below = best
        if value > below and value >= below / 2 + level / 2:
            best = level
    return best


def features(codes, start, u):
    """[x >= level k] and Phi = sqrt(u_k - u_{k-1}) [x >= level k], row by row and level by level."""
    held, phi = np.zeros((len(codes), len(u))), np.zeros((len(codes), len(u)))
    for i, row in enumerate(codes):
        for code in row:
            d = np.searchsorted(start, code, side="right") - 1
            below = 0.0
            for k in range(start[d], code + 1):
                held[i, k] = 1.0
                phi[i, k] = np.sqrt(u[k] - below)
                below = u[k]
    return held, phi
