"""Sums of kernels over channels of columns (Kapoor2010, section 6)."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from core._types import Floats
from core.kernels.base import POSITIVE, Kernel
from core.kernels.dense import LinearKernel, RBFKernel
from core.kernels.intersection import IntersectionKernel

ChannelKernel = IntersectionKernel | RBFKernel | LinearKernel


@dataclass(frozen=True, eq=False)
class SumKernel(Kernel):
    """k(x, x') = bias + sum_c weight_c k_c(x_c, x'_c), where x_c are the columns of channel c.

    The kernels of channels have no constant and no scale of their own: weights of 1 and an amplitude of 1. Parameters
    that they have besides, like gamma, are named with their number.

    >>> rbf = RBFKernel(np.ones(1), np.zeros(1, dtype=int), bias=0.0, gamma=0.5)
    >>> kernel = SumKernel.of([rbf, LinearKernel(np.ones(1), np.zeros(2, dtype=int), bias=0.0)], bias=0.1)
    >>> kernel.names, kernel.theta.tolist()
    (('gamma[0]', 'bias', 'weight[0]', 'weight[1]'), [0.5, 0.1, 1.0, 1.0])
    """

    channels: tuple[ChannelKernel, ...] = ()

    @classmethod
    def of(cls, channels: "list[ChannelKernel] | tuple[ChannelKernel, ...]", bias: float) -> "SumKernel":
        """With a weight of 1 for each channel."""
        return cls(np.ones(len(channels)), np.arange(len(channels)), bias, tuple(channels))

    @property
    def own_bounds(self) -> dict[str, tuple[float, float]]:
        return {
            f"{name}[{number}]": bounds
            for number, kernel in enumerate(self.channels)
            for name, bounds in own_parameters(kernel).items()
        }

    @property
    def searched(self) -> tuple[str, ...]:
        """Those that searches of the channels move."""
        return tuple(f"{name}[{number}]" for number, kernel in enumerate(self.channels) for name in kernel.searched)

    @property
    def theta(self) -> Floats:
        own = [getattr(kernel, name) for kernel in self.channels for name in own_parameters(kernel)]
        return np.array([*own, self.bias, *self.weights])

    @property
    def bounds(self) -> Floats:
        return np.array([*self.own_bounds.values(), *[POSITIVE] * (1 + len(self.weights))])

    def with_theta(self, theta: Floats) -> Self:
        values, channels = iter(map(float, theta)), []
        for kernel in self.channels:
            own = {name: next(values) for name in own_parameters(kernel)}
            changed = any(getattr(kernel, name) != value for name, value in own.items())
            channels.append(replace(kernel, **own) if changed else kernel)  # type: ignore[arg-type]
        return replace(self, bias=next(values), weights=np.array(list(values)), channels=tuple(channels))


def own_parameters(kernel: ChannelKernel) -> dict[str, tuple[float, float]]:
    """Parameters of a channel besides its scale, with their search intervals."""
    fixed = ("amplitude",) if getattr(kernel, "transform", "") is not None else ("amplitude", "eta")
    return {name: bounds for name, bounds in kernel.own_bounds.items() if name not in fixed}
