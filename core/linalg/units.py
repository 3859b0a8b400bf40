"""Scales of the data, in which hyperparameters are searched: results do not depend on the scale of the features."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import pdist

from core._types import Dims, Floats
from core.kernels import (
    ChannelKernel,
    IntersectionKernel,
    Kernel,
    LinearKernel,
    NormalisedIntersectionKernel,
    RBFKernel,
    SumKernel,
)
from core.linalg.histogram_operator import HistogramOperator
from core.linalg.operator import Operator
from core.linalg.sum_operator import SumOperator
from core.rows import vectors

SAMPLE_ROWS = 256  # between which distances are taken
NEAR = 10.0  # by which gamma may be off the distances of rows where a search starts: farther off all is flat

MEASURES = {
    "noise": " times the mean of k(x, x)",
    "variance": " over the mean of k(x, x)",
    "gamma": " over the median squared distance of rows",
}


@dataclass(frozen=True)
class AtBound:
    """A parameter whose search ended at a bound: beyond it there may be better ones.

    >>> str(AtBound("gamma", 2.5, 1e4, upper=True))
    'the search for gamma ended at its upper bound, 10000 over the median squared distance of rows (gamma = 2.5)'
    """

    parameter: str
    value: float
    bound: float  # in units of the data
    upper: bool

    def __str__(self) -> str:
        side, unit = "upper" if self.upper else "lower", MEASURES.get(self.parameter.split("[")[0], "")
        found = f"({self.parameter} = {self.value:.4g})"
        return f"the search for {self.parameter} ended at its {side} bound, {self.bound:g}{unit} {found}"


@dataclass(frozen=True, eq=False)
class Entries:
    """The mean row of histograms: how often rows have each value of each dimension."""

    values: Floats
    dims: Dims
    shares: Floats


@dataclass(frozen=True, eq=False)
class Units:
    """Scales of the rows of one or several operators: in these units the mean of k(x, x) without bias is 1.

    Weights are in units of that mean under the weights of `reference`, which follows eta; gamma is in units of one over
    the median squared distance; values under "exp" in units of the largest. Bias and noise then are shares of the
    mean. A kernel in units is an ordinary kernel, and `true` is the one that compares rows.

    >>> from core.linalg import DenseOperator
    >>> x = np.array([[3.0], [5.0], [7.0]])
    >>> units = Units.of([DenseOperator(x, RBFKernel(np.ones(1), np.zeros(1, dtype=int), 1.0, gamma=0.5))])
    >>> units.distance, units.true(replace(units.reference, gamma=2.0)).gamma
    (4.0, 0.5)
    """

    reference: Kernel
    entries: Entries | None = None  # of histograms
    squares: Floats | None = None  # of dense vectors: the mean of |x|^2 in each group of dimensions, G
    distance: float = 1.0  # median squared one, for the RBF kernel
    channels: "tuple[Units, ...]" = ()  # of a sum of kernels
    largest: float = 1.0  # value of a histogram, for "exp"

    @classmethod
    def of(cls, operators: Sequence[Operator], reference: Kernel | None = None) -> "Units":
        """Of all their rows, under the weights of this kernel or, by default, of the one they have."""
        kernel = reference or operators[0].kernel
        if isinstance(kernel, SumKernel):
            sums = [operator for operator in operators if isinstance(operator, SumOperator)]
            split = zip(*(operator.channels for operator in sums), strict=True)
            units = (cls.of(own, one) for own, one in zip(split, kernel.channels, strict=True))
            return cls(kernel, channels=tuple(units))
        if isinstance(kernel, IntersectionKernel):
            entries = _entries(operators, len(kernel.groups))
            largest = float(entries.values.max(initial=0.0)) if kernel.transform == "exp" else 1.0
            return cls(kernel, entries, largest=largest or 1.0)
        if isinstance(kernel, LinearKernel):
            squares = np.bincount(kernel.groups, _squares(operators), minlength=len(kernel.weights))
            return cls(kernel, squares=np.asarray(squares, dtype=np.float64))
        distances = np.concatenate([_distances(operator, kernel) for operator in operators])
        return cls(kernel, distance=float(np.median(distances)) if len(distances) else 1.0)

    def true(self, kernel: Kernel) -> Kernel:
        """The kernel that compares rows, from one in units."""
        if isinstance(kernel, SumKernel):
            # The constant is a share of the whole sum: otherwise smaller weights would make more of it.
            bias, weights = kernel.bias * float(kernel.weights.sum()), kernel.weights / self._sizes(kernel)
            return replace(kernel, channels=self._unscaled(kernel), weights=weights, bias=bias)
        if isinstance(kernel, RBFKernel):
            return replace(kernel, gamma=kernel.gamma / self.distance)
        if isinstance(kernel, IntersectionKernel):
            kernel = replace(kernel, unit=kernel.unit * self.largest)
        if isinstance(kernel, NormalisedIntersectionKernel):
            return kernel  # its weights have no scale
        return replace(kernel, weights=kernel.weights / self.size(kernel))

    def plain(self, kernel: Kernel, noise: float) -> tuple[Kernel, float]:
        """A true kernel and noise in units, without their common factor, which leaves all means as they are."""
        if isinstance(kernel, SumKernel):
            pairs = zip(self.channels, kernel.channels, strict=True)
            channels = tuple(_without_scale(units.plain(own, 1.0)[0]) for units, own in pairs)
            shares = kernel.weights * self._sizes(replace(kernel, channels=channels))
            total = float(shares.sum()) or 1.0
            return replace(kernel, channels=channels, weights=shares / total, bias=kernel.bias / total), noise / total
        if isinstance(kernel, RBFKernel):
            scaled = kernel.scaled(1.0 / kernel.amplitude)
            return replace(scaled, gamma=kernel.gamma * self.distance), noise / kernel.amplitude
        if isinstance(kernel, NormalisedIntersectionKernel):
            alone = kernel.scaled(1.0 / kernel.amplitude)
            return replace(alone, unit=kernel.unit / self.largest), noise / kernel.amplitude
        factor = self.size(kernel, kernel.weights)
        bare = replace(kernel, weights=kernel.weights / factor * self.size(kernel), bias=kernel.bias / factor)
        if isinstance(bare, IntersectionKernel):
            bare = replace(bare, unit=bare.unit / self.largest)
        return bare, noise / factor

    def start(self, kernel: Kernel) -> Kernel:
        """A kernel whose numbers are meant in units, as those of settings are; only gamma is always the true one."""
        if isinstance(kernel, SumKernel):
            channels = tuple(units.start(own) for units, own in zip(self.channels, kernel.channels, strict=True))
            shares = kernel.weights / (kernel.weights.sum() or 1.0)
            return replace(kernel, channels=channels, weights=shares)  # type: ignore[arg-type]
        if isinstance(kernel, RBFKernel):
            near = float(np.clip(kernel.gamma * self.distance, 1.0 / NEAR, NEAR))
            return replace(kernel, gamma=near, amplitude=1.0)
        if isinstance(kernel, NormalisedIntersectionKernel):
            kernel = replace(kernel, amplitude=1.0)
        return replace(kernel, unit=1.0) if isinstance(kernel, IntersectionKernel) else kernel

    def pull_back(self, kernel: Kernel, by_theta: Floats) -> Floats:
        """The gradient by the theta of a kernel in units, from that by the theta of the true one.

        The unit of "exp" counts as fixed.
        """
        by, true = dict(zip(kernel.names, by_theta, strict=True)), self.true(kernel)
        if isinstance(true, SumKernel) and isinstance(kernel, SumKernel):
            return self._pull_back_sum(kernel, true, by)
        if isinstance(true, NormalisedIntersectionKernel):
            return by_theta
        if isinstance(true, RBFKernel):
            return np.array([*(value / (self.distance if name == "gamma" else 1.0) for name, value in by.items())])
        by_weights = by_theta[-len(true.weights) :]
        if isinstance(true, IntersectionKernel):
            by["eta"] -= float(by_weights @ true.weights) * self._rise(true)
        own = [value for name, value in by.items() if not name.startswith("weight")]
        return np.array([*own, *by_weights / self.size(true)])

    def _unscaled(self, kernel: SumKernel) -> "tuple[ChannelKernel, ...]":
        """The true kernels of channels, without the scale that belongs to their weights."""
        pairs = zip(self.channels, kernel.channels, strict=True)
        return tuple(_without_scale(units.true(own)) for units, own in pairs)

    def _sizes(self, kernel: SumKernel) -> Floats:
        """The mean of k_c(x, x) of each channel, from kernels in units."""
        sizes = [units.size(true) for units, true in zip(self.channels, self._unscaled(kernel), strict=True)]
        return np.array(sizes)

    def _pull_back_sum(self, kernel: SumKernel, true: SumKernel, by: dict[str, float]) -> Floats:
        """Weights follow the size of their channel, which follows eta."""
        sizes = self._sizes(kernel)
        for number, (units, own) in enumerate(zip(self.channels, true.channels, strict=True)):
            by_weight, weight = by[f"weight[{number}]"], true.weights[number]
            if f"gamma[{number}]" in by:
                by[f"gamma[{number}]"] /= units.distance
            if f"eta[{number}]" in by and not isinstance(own, NormalisedIntersectionKernel):
                assert isinstance(own, IntersectionKernel)
                by[f"eta[{number}]"] -= by_weight * weight * units._rise(own)
            by[f"weight[{number}]"] = by_weight / sizes[number] + by["bias"] * kernel.bias
        by["bias"] *= float(kernel.weights.sum())
        return np.array(list(by.values()))

    def size(self, kernel: Kernel, weights: Floats | None = None) -> float:
        """The mean of k(x, x) without bias, of a true kernel with these weights or those of the reference."""
        weights = self.reference.weights if weights is None else weights
        if self.squares is not None:
            return float(self.squares @ weights) or 1.0
        if self.entries is None or isinstance(kernel, NormalisedIntersectionKernel):
            return 1.0
        assert isinstance(kernel, IntersectionKernel)
        u = replace(kernel, weights=weights).apply(self.entries.values, self.entries.dims)
        return float(u @ self.entries.shares) or 1.0

    def _rise(self, kernel: IntersectionKernel) -> float:
        """Derivative of log(size) by eta."""
        assert self.entries is not None
        reference = replace(kernel, weights=self.reference.weights)
        by_theta = reference.pull_back(self.entries.values, self.entries.dims, self.entries.shares)
        return float(by_theta[0]) / self.size(kernel)


def _without_scale(kernel: Kernel) -> "ChannelKernel":
    """A kernel of a channel with weights of 1 and an amplitude of 1."""
    assert isinstance(kernel, ChannelKernel)
    own = {"amplitude": 1.0} if hasattr(kernel, "amplitude") else {}
    return replace(kernel, weights=np.ones_like(kernel.weights), **own)  # type: ignore[arg-type]


def _entries(operators: Sequence[Operator], n_dims: int) -> Entries:
    parts, rows = [], 0
    for operator in operators:
        assert isinstance(operator, HistogramOperator)
        levels = operator.levels
        counts = np.bincount(operator.rows.codes, minlength=len(levels))
        held = np.flatnonzero((counts > 0) & (levels.dims < n_dims))
        parts.append((levels.values[held], levels.dims[held], counts[held]))
        rows += len(operator)
    values, dims, counts = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Entries(values, dims, counts / max(rows, 1))


def _squares(operators: Sequence[Operator]) -> Floats:
    """The mean of x_d^2, D."""
    tables = [vectors(operator.training_rows(np.arange(len(operator)))) for operator in operators]
    sums = [np.asarray((x.multiply(x) if sp.issparse(x) else x * x).sum(axis=0)).ravel() for x in tables]
    return np.asarray(np.sum(sums, axis=0) / max(sum(map(len, operators)), 1))


def _distances(operator: Operator, kernel: Kernel) -> Floats:
    """Squared distances between some rows, without zeros."""
    some = np.linspace(0, len(operator) - 1, min(SAMPLE_ROWS, len(operator)))
    x = vectors(operator.training_rows(some.astype(np.int64)))
    found = pdist(x * np.sqrt(kernel.dim_weights), "sqeuclidean")
    return np.asarray(found[found > 0.0])
