"""Histogram intersection kernels, as functions of single values (Rodner2012, eq. 4, 7, 8)."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from core._types import Dims, Floats
from core.kernels.base import POSITIVE, Kernel

Transform = Literal["power", "exp"] | None


@dataclass(frozen=True, eq=False)
class IntersectionKernel(Kernel):
    """k(x, x') = bias + sum_d weight_d min(g(x_d), g(x'_d)).

    g is the identity, x^eta ("power": G-HIK) or (e^(eta x / unit) - 1) / (e^eta - 1) ("exp": EXP-HIK, where
    `unit` is the scale of the values: a search sets it to the largest one). The constant dimension behind the data is
    1 and stays so: its weight is the bias.

    >>> kernel = IntersectionKernel(np.ones(1), np.zeros(2, dtype=int), bias=0.5, transform="power", eta=2.0)
    >>> kernel.names, kernel.theta.tolist()
    (('eta', 'bias', 'weight[0]'), [2.0, 0.5, 1.0])
    >>> kernel.apply(np.array([3.0, 1.0]), np.array([0, 2])).tolist()
    [9.0, 0.5]
    """

    transform: Transform = None
    eta: float = 1.0

    unit: float = 1.0  # of values under "exp"

    @property
    def own_bounds(self) -> dict[str, tuple[float, float]]:
        return {"eta": (0.05, 20.0)} | ({"unit": POSITIVE} if self.transform == "exp" else {})

    def apply(self, values: Floats, dims: Dims) -> Floats:
        """u = weight_d g(value) for values in these dimensions; D is the constant one."""
        u = np.append(self.dim_weights, self.bias)[dims] * self._base(values, dims)
        if not np.isfinite(u).all():
            first = int(np.argmax(~np.isfinite(u)))
            how = f"with transform={self.transform!r} and eta={self.eta:g}" if self.transform else "times its weight"
            raise ValueError(
                f"the value {values[first]:g} in column {dims[first]} is not finite {how}: scale the features to [0, 1]"
            )
        return u

    def pull_back(self, values: Floats, dims: Dims, gradient: Floats) -> Floats:
        """Gradient by `theta` of a function whose gradient by u = apply(values, dims) is given."""
        base, data = self._base(values, dims), dims < len(self.groups)
        by_group = np.bincount(self.groups[dims[data]], (gradient * base)[data], minlength=len(self.weights))
        by_bias = float((gradient * base)[~data].sum())
        by_g = gradient[data] * self.dim_weights[dims[data]]
        own = [float(by_g @ slope) for slope in self._slopes(values[data])]
        return np.array([*own, by_bias, *by_group])

    def _slopes(self, values: Floats) -> list[Floats]:
        """Derivatives of g by the parameters in `own_bounds`."""
        match self.transform:
            case "power":
                return [values**self.eta * np.log(values)]
            case "exp":
                x, g = values / self.unit, self._transformed(values)
                rise = g * x / -np.expm1(-self.eta * x)
                return [rise - g / -np.expm1(-self.eta), -rise * self.eta / self.unit]
            case None:
                return [np.zeros_like(values)]

    def _base(self, values: Floats, dims: Dims) -> Floats:
        """g of values in these dimensions."""
        if self.transform is None:
            return values
        return np.where(dims < len(self.groups), self._transformed(values), values)

    def _transformed(self, values: Floats) -> Floats:
        with np.errstate(over="ignore"):
            match self.transform:
                case "power":
                    return values**self.eta
                case "exp":  # written so that values up to the unit never overflow, whatever eta
                    x = values / self.unit
                    lower = np.expm1(-self.eta * x) / np.expm1(-self.eta)
                    return np.asarray(np.exp(self.eta * (x - 1.0)) * lower)
                case None:
                    return values
