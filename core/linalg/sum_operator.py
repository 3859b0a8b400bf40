"""The kernel matrix of a sum of kernels: each channel of columns has an operator of its own."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from core._types import Floats, Indices
from core.drafts import Drafted
from core.kernels import SumKernel, own_parameters
from core.linalg.operator import KernelExpansion, Operator
from core.rows import ChannelRows, Rows, channel_rows


@dataclass(frozen=True, eq=False)
class ChannelSum:
    """x -> sum_c weight_c f_c(x_c) + constant."""

    functions: tuple[KernelExpansion, ...]  # of M columns each
    weights: Floats
    constant: Floats  # M

    def __call__(self, query: Rows, *, quantised: bool = False) -> Floats:
        rows = channel_rows(query)
        out = np.zeros((len(rows), len(self.constant)))
        for function, weight, own in zip(self.functions, self.weights, rows.channels, strict=True):
            if weight:
                out += weight * function(own, quantised=quantised)
        out += self.constant
        return out

    def for_items(self, by: Floats | None = None) -> "ChannelSum":
        functions = tuple(function.for_items(by) for function in self.functions)
        return ChannelSum(functions, self.weights, self.constant if by is None else self.constant @ by)


class SumOperator(Drafted):
    """K = sum_c weight_c K_c + bias, with K_c of the operator of channel c, which has no constant."""

    def __init__(self, channels: Sequence[Operator], kernel: SumKernel) -> None:
        self.kernel = kernel
        self.channels: tuple[Any, ...] = tuple(
            channel if channel.kernel is own else channel.with_kernel(own)
            for channel, own in zip(channels, kernel.channels, strict=True)
        )
        self._matrices: dict[Any, Floats] | None = None  # K_c of channels, where they are kept

    def __len__(self) -> int:
        return len(self.channels[0])

    def with_kernel(self, kernel: Any) -> "SumOperator":
        """The same rows under another kernel; channels whose own kernel is the same stay."""
        twin = SumOperator(self.channels, kernel)
        twin._matrices = self._matrices
        return twin

    def keeping_matrices(self) -> "SumOperator":
        """For many kernels over rows that stay: K_c of channels whose own kernel stays is computed once."""
        twin = SumOperator(self.channels, self.kernel)
        twin._matrices = {}
        return twin

    @property
    def levels(self) -> tuple[Any, ...]:
        """The level tables of channels, or None."""
        return tuple(channel.levels for channel in self.channels)

    def product(self, v: Floats) -> Floats:
        total = self.kernel.bias * np.broadcast_to(v.sum(axis=0), v.shape)
        return np.asarray(total + sum(weight * channel.product(v) for weight, channel in self._weighted()))

    def predictor(self, v: Floats) -> ChannelSum:
        functions = tuple(channel.predictor(v) for channel in self.channels)
        return ChannelSum(functions, self.kernel.weights, self.kernel.bias * v.sum(axis=0))

    def pull_back(self, e: Floats, f: Floats) -> Floats:
        by_weights = [np.vdot(e, channel.product(f)) for channel in self.channels]
        own = [w * self._own(c, c.pull_back(e, f)) for w, c in zip(self.kernel.weights, self.channels, strict=True)]
        return np.array([*np.concatenate(own), np.vdot(e.sum(axis=0), f.sum(axis=0)), *by_weights])

    def pull_back_matrix(self, gradient: Floats) -> Floats:
        by_weights = [np.vdot(gradient, self._matrix(channel)) for channel in self.channels]
        own = [
            weight * self._own(channel, channel.pull_back_matrix(gradient)) if self._names(channel) else np.empty(0)
            for weight, channel in zip(self.kernel.weights, self.channels, strict=True)
        ]
        return np.array([*np.concatenate(own), gradient.sum(), *by_weights])

    def difference(self, query: Rows, beta: Floats) -> ChannelSum:
        rows = channel_rows(query)
        functions = tuple(c.difference(own, beta) for c, own in zip(self.channels, rows.channels, strict=True))
        return ChannelSum(functions, self.kernel.weights, self.kernel.bias * (1.0 - beta.sum(axis=0)))

    def only(self, rows: Indices) -> "SumOperator":
        return SumOperator([channel.only(rows) for channel in self.channels], self.kernel)

    def training_rows(self, rows: Indices) -> ChannelRows:
        return ChannelRows(tuple(channel.training_rows(rows) for channel in self.channels))

    def cross(self, query: Rows, first: int = 0) -> Floats:
        rows = channel_rows(query)
        out = np.full((len(self) - first, len(rows)), self.kernel.bias)
        for weight, channel, own in zip(self.kernel.weights, self.channels, rows.channels, strict=True):
            if weight:
                out += weight * channel.cross(own, first)
        return out

    def kernel_matrix(self) -> Floats | None:
        """K, n x n, of matrices that are kept; else it would need the memory of several."""
        if self._matrices is None:
            return None
        out = np.full((len(self), len(self)), self.kernel.bias)
        for weight, channel in self._weighted():
            out += weight * self._matrix(channel)
        return out

    def diagonal(self, query: Rows) -> Floats:
        rows, out = channel_rows(query), np.full(len(query), self.kernel.bias)
        for weight, channel, own in zip(self.kernel.weights, self.channels, rows.channels, strict=True):
            out += weight * channel.diagonal(own)
        return out

    def check(self, query: Rows) -> None:
        for channel, own in zip(self.channels, channel_rows(query).channels, strict=True):
            channel.check(own)

    def draft(self) -> Self:
        twin = super().draft()
        twin.channels = tuple(channel.draft() for channel in self.channels)
        twin._matrices = None
        return twin

    def append(self, query: Rows) -> None:
        for channel, own in zip(self.channels, channel_rows(query).channels, strict=True):
            channel.append(own)

    def remove(self, rows: Indices) -> None:
        for channel in self.channels:
            channel.remove(rows)

    def encode(self, query: Rows) -> ChannelRows:
        pairs = zip(self.channels, channel_rows(query).channels, strict=True)
        return ChannelRows(tuple(channel.encode(own) for channel, own in pairs))

    def learn_levels(self, query: Rows) -> ChannelRows:
        pairs = zip(self.channels, channel_rows(query).channels, strict=True)
        return ChannelRows(tuple(channel.learn_levels(own) for channel, own in pairs))

    def follow_levels(self, levels: tuple[Any, ...]) -> None:
        for channel, own in zip(self.channels, levels, strict=True):
            channel.follow_levels(own)

    def _weighted(self) -> list[tuple[float, Any]]:
        """Channels that count, with their weights."""
        return [(w, channel) for w, channel in zip(self.kernel.weights, self.channels, strict=True) if w]

    def _matrix(self, channel: Any) -> Floats:
        if self._matrices is not None and channel in self._matrices:
            return self._matrices[channel]
        found: Floats = channel.cross(channel.training_rows(np.arange(len(self))))
        if self._matrices is not None:
            self._matrices[channel] = found
        return found

    @staticmethod
    def _names(channel: Any) -> list[str]:
        return list(own_parameters(channel.kernel))

    def _own(self, channel: Any, by_theta: Floats) -> Floats:
        """What of the gradient of a channel is by its own parameters."""
        by = dict(zip(channel.kernel.names, by_theta, strict=True))
        return np.array([by[name] for name in self._names(channel)])
