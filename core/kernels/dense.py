"""Kernels of dense vectors, for the dual posterior."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from core._types import Floats
from core.kernels.base import POSITIVE, Kernel


@dataclass(frozen=True, eq=False)
class LinearKernel(Kernel):
    """k(x, x') = bias + sum_d weight_d x_d x'_d.

    >>> LinearKernel(np.ones(1), np.zeros(2, dtype=int), bias=1.0).cross(np.eye(2), np.ones((1, 2))).tolist()
    [[2.0], [2.0]]
    """

    def cross(self, a: Floats, b: Floats) -> Floats:
        """Kernel values, len(a) x len(b)."""
        values: Floats = (a * self.dim_weights) @ b.T + self.bias
        return values

    def diagonal(self, a: Floats) -> Floats:
        """Kernel of each row with itself."""
        values: Floats = np.einsum("nd,nd,d->n", a, a, self.dim_weights) + self.bias
        return values

    def pull_back(self, x: Floats, gradient: Floats, values: Floats | None = None) -> Floats:  # noqa: ARG002
        """Gradient by `theta` of a function whose gradient by K(x, x), which may be known, is given."""
        by_dim = np.einsum("nd,nd->d", x, gradient @ x)
        return np.array([gradient.sum(), *np.bincount(self.groups, by_dim, minlength=len(self.weights))])


@dataclass(frozen=True, eq=False)
class RBFKernel(Kernel):
    """k(x, x') = bias + amplitude exp(-gamma sum_d weight_d (x_d - x'_d)^2).

    >>> kernel = RBFKernel(np.ones(1), np.zeros(1, dtype=int), bias=0.0, gamma=0.5)
    >>> kernel.cross(np.zeros((1, 1)), np.array([[0.0], [2.0]])).round(4).tolist()
    [[1.0, 0.1353]]
    """

    gamma: float = 1.0
    amplitude: float = 1.0

    @property
    def own_bounds(self) -> dict[str, tuple[float, float]]:
        return {"gamma": (1e-6, 1e4), "amplitude": POSITIVE}

    def scaled(self, factor: float) -> Self:
        return replace(self, amplitude=self.amplitude * factor, bias=self.bias * factor)

    def cross(self, a: Floats, b: Floats) -> Floats:
        """Kernel values, len(a) x len(b)."""
        root = np.sqrt(self.gamma * self.dim_weights)
        # Distances do not change when both move; around the middle of b less is lost to cancellation.
        middle = b.mean(axis=0) if len(b) else 0.0
        a, b = (a - middle) * root, (b - middle) * root
        distances = (a * a).sum(axis=1)[:, None] + (b * b).sum(axis=1) - 2.0 * (a @ b.T)
        values: Floats = self.amplitude * np.exp(-np.maximum(distances, 0.0)) + self.bias
        return values

    def diagonal(self, a: Floats) -> Floats:
        """Kernel of each row with itself."""
        return np.full(len(a), self.amplitude + self.bias)

    def pull_back(self, x: Floats, gradient: Floats, values: Floats | None = None) -> Floats:
        """Gradient by `theta` of a function whose gradient by K(x, x), which may be known, is given."""
        inner = gradient * ((self.cross(x, x) if values is None else values) - self.bias)
        x = x - x.mean(axis=0)  # differences stay, and less of them is lost to cancellation
        sides = inner.sum(axis=0) + inner.sum(axis=1)
        squares = sides @ x**2 - 2.0 * np.einsum("nd,nd->d", x, inner @ x)  # sum_ij inner_ij (x_id - x_jd)^2
        by_gamma = -(squares @ self.dim_weights)
        by_group = -self.gamma * np.bincount(self.groups, squares, minlength=len(self.weights))
        return np.array([by_gamma, inner.sum() / self.amplitude, gradient.sum(), *by_group])


DenseKernel = LinearKernel | RBFKernel
