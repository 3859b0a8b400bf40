"""Base class of kernels: weights of groups of dimensions, a constant term, and a flat vector of parameters."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from core._types import Floats, Indices

POSITIVE = (1e-6, 1e6)


def group_weights(weights: Any, groups: Any, n_dims: int) -> tuple[Floats, Indices]:
    """Weights of groups and the group of each dimension, from what a user gives.

    >>> [part.tolist() for part in group_weights([2.0, 0.0], [0, 0, 1], 3)]
    [[2.0, 0.0], [0, 0, 1]]
    """
    if groups is None:
        groups = np.zeros(n_dims) if weights is None else np.arange(n_dims)
    numbers = np.asarray(groups)
    integral = numbers.dtype.kind in "iuf" and (numbers == np.floor(numbers)).all()
    if numbers.shape != (n_dims,) or not integral or numbers.min(initial=0) < 0:
        raise ValueError(f"groups must hold one group number from 0 on for each of the {n_dims} columns")
    numbers = numbers.astype(np.int64)
    n_groups = int(numbers.max(initial=0)) + 1
    values = np.ones(n_groups) if weights is None else np.asarray(weights)
    values = values.astype(np.float64) if values.dtype.kind in "iuf" else np.empty(0)
    if values.shape != (n_groups,) or not np.isfinite(values).all() or values.min(initial=0.0) < 0.0:
        raise ValueError(f"weights must hold {n_groups} finite numbers of at least 0; got {weights!r}")
    return values, numbers


@dataclass(frozen=True, eq=False)
class Kernel:
    """A kernel over D dimensions. Changing parameters gives a new kernel.

    `theta` is the vector of parameters, in the order of `names`; `bounds` are their search intervals, in units of the
    data (see core.linalg.Units). A subclass adds parameters by naming their fields in `own_bounds`.
    """

    weights: Floats  # G, one per group
    groups: Indices  # D, the group of each dimension
    bias: float  # variance of the constant term

    @property
    def own_bounds(self) -> dict[str, tuple[float, float]]:
        """Names and search intervals of the parameters that a subclass adds."""
        return {}

    @property
    def searched(self) -> tuple[str, ...]:
        """Which of them a search moves; a scale is found in closed form, or as the weight of a channel."""
        return tuple(name for name in self.own_bounds if name != "amplitude")

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.own_bounds, "bias", *(f"weight[{g}]" for g in range(len(self.weights))))

    @property
    def theta(self) -> Floats:
        return np.array([*(getattr(self, name) for name in self.own_bounds), self.bias, *self.weights])

    @property
    def bounds(self) -> Floats:
        return np.array([*self.own_bounds.values(), *[POSITIVE] * (1 + len(self.weights))])

    def with_theta(self, theta: Floats) -> Self:
        """The same kernel with other parameters, in the order of `names`."""
        scalars: dict[str, Any] = dict(zip((*self.own_bounds, "bias"), map(float, theta), strict=False))
        return replace(self, weights=np.asarray(theta[len(scalars) :], dtype=np.float64), **scalars)

    def scaled(self, factor: float) -> Self:
        """factor * k."""
        return replace(self, weights=self.weights * factor, bias=self.bias * factor)

    @property
    def dim_weights(self) -> Floats:
        """The weight of each dimension, D."""
        return self.weights[self.groups]
