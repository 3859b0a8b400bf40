"""Histogram intersection kernels, as functions of single values (Rodner2012, eq. 4, 7, 8)."""

from dataclasses import dataclass, replace
from typing import Literal, Self

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

    @property
    def searched(self) -> tuple[str, ...]:
        """The parameter of the transform."""
        return ("eta",) if self.transform is not None else ()

    def apply(self, values: Floats, dims: Dims) -> Floats:
        """u = weight_d g(value) for values in these dimensions; D is the constant one."""
        u = np.append(self.dim_weights, self._constant)[dims] * self._base(values, dims)
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

    @property
    def _constant(self) -> float:
        """u of the constant dimension."""
        return self.bias

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


@dataclass(frozen=True, eq=False)
class NormalisedIntersectionKernel(IntersectionKernel):
    """k(x, x') = bias + amplitude h(x, x') / sqrt(h(x, x) h(x', x')), with h the intersection without a constant.

    So long rows weigh no more than short ones (Kapoor2010 normalises its pyramid match kernel like this). Weights are
    relative: a factor of all of them changes nothing. `apply` gives the values of h, in which the constant is 0.

    >>> kernel = NormalisedIntersectionKernel(np.ones(1), np.zeros(2, dtype=int), bias=0.5)
    >>> kernel.names, kernel.apply(np.array([3.0, 1.0]), np.array([0, 2])).tolist()
    (('eta', 'amplitude', 'bias', 'weight[0]'), [3.0, 0.0])
    """

    amplitude: float = 1.0

    @property
    def own_bounds(self) -> dict[str, tuple[float, float]]:
        return super().own_bounds | {"amplitude": POSITIVE}

    def scaled(self, factor: float) -> Self:
        return replace(self, amplitude=self.amplitude * factor, bias=self.bias * factor)

    @property
    def _constant(self) -> float:
        return 0.0

    def _slopes(self, values: Floats) -> list[Floats]:
        return [*super()._slopes(values), np.zeros_like(values)]
