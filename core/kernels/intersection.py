"""Histogram intersection kernels: what acts on level values (paper 000, eq. 4, 7, 8)."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from core._types import Dims, Floats
from core.kernels.base import Kernel

Transform = Literal["power", "exp"] | None


@dataclass(frozen=True, eq=False)
class IntersectionKernel(Kernel):
    """k(x, x') = bias + sum_d weight_d min(g(x_d), g(x'_d)).

    g is the identity, x^eta ("power": G-HIK) or (e^(eta x) - 1) / (e^eta - 1) ("exp": EXP-HIK). All of them take 1 to
    1, so the constant dimension behind the data needs no exception: its weight is the bias.

    >>> kernel = IntersectionKernel(np.ones(1), np.zeros(2, dtype=int), bias=0.5, transform="power", eta=2.0)
    >>> kernel.names, kernel.theta.tolist()
    (('eta', 'bias', 'weight[0]'), [2.0, 0.5, 1.0])
    >>> kernel.apply(np.array([3.0, 1.0]), np.array([0, 2])).tolist()
    [9.0, 0.5]
    """

    transform: Transform = None
    eta: float = 1.0

    own: ClassVar[dict[str, tuple[float, float]]] = {"eta": (0.05, 20.0)}

    def apply(self, values: Floats, dims: Dims) -> Floats:
        """u = weight_d g(value) for values in these dimensions; D is the constant one."""
        u = np.append(self.dim_weights, self.bias)[dims] * self._transformed(values)
        if not np.isfinite(u).all():
            first = int(np.argmax(~np.isfinite(u)))
            how = f"with transform={self.transform!r} and eta={self.eta:g}" if self.transform else "times its weight"
            raise ValueError(
                f"the value {values[first]:g} in column {dims[first]} is not finite {how}: scale the features to [0, 1]"
            )
        return u

    def pull_back(self, values: Floats, dims: Dims, gradient: Floats) -> Floats:
        """Gradient by `theta` of a function whose gradient by u = apply(values, dims) is given."""
        base = self._transformed(values)
        data = dims < len(self.groups)
        by_group = np.bincount(self.groups[dims[data]], (gradient * base)[data], minlength=len(self.weights))
        by_bias = float((gradient * base)[~data].sum())
        by_eta = float((gradient * np.append(self.dim_weights, self.bias)[dims] * self._eta_derivative(values)).sum())
        return np.array([by_eta, by_bias, *by_group])

    def _eta_derivative(self, values: Floats) -> Floats:
        match self.transform:
            case "power":
                return np.asarray(values**self.eta * np.log(values))
            case "exp":
                rise = values / -np.expm1(-self.eta * values) - 1.0 / -np.expm1(-self.eta)
                return np.asarray(self._transformed(values) * rise)
            case None:
                return np.zeros_like(values)

    def _transformed(self, values: Floats) -> Floats:
        with np.errstate(over="ignore"):
            match self.transform:
                case "power":
                    return values**self.eta
                case "exp":  # written so that values up to 1 never overflow, whatever eta
                    lower = np.expm1(-self.eta * values) / np.expm1(-self.eta)
                    return np.asarray(np.exp(self.eta * (values - 1.0)) * lower)
                case None:
                    return values
