"""Makes reader, kernel, operator and model from settings and the first rows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from core._types import Floats, Indices, Table
from core.classes import ClassTree
from core.histograms import Allocate, Complement, Histograms, reduced
from core.kernels import (
    ChannelKernel,
    IntersectionKernel,
    LinearKernel,
    NormalisedIntersectionKernel,
    RBFKernel,
    SumKernel,
    group_weights,
)
from core.linalg import DenseOperator, LinearOperator, Operator, StoredOperator, SumOperator, histogram_operator
from core.posterior import LabelRegression
from core.settings import Settings
from core.softmax import SoftmaxClasses
from core.tables import AnyReader, ChannelReader, Reader, dense
from core.tuning import Given


def make_reader(settings: Settings, x: Table) -> AnyReader:
    """For checked first rows: complements use the range of these."""
    if isinstance(settings.kernel, tuple):
        pairs = zip(settings.channels, settings.kernel, strict=True)
        readers = (single_reader(own, channel.of(x)) for own, channel in pairs)
        return ChannelReader(settings.kernel, tuple(readers))
    return single_reader(settings, x)


def single_reader(settings: Settings, x: Table) -> Reader:
    """The same for one kernel of all columns."""
    return reader_with(settings, Complement.of(x) if settings.complement else None)


def reader_with(settings: Settings, complement: Complement | None) -> Reader:
    """With given complements, or none."""
    sparse = settings.kernel == "linear" and settings.likelihood == "softmax"
    return Reader(settings.kernel == "hik", complement, settings.split, sparse)


def make_kernel(settings: Settings, x: Table, reader: Reader) -> ChannelKernel:
    """For checked first rows: their number of columns, and their variance with gamma="scale"."""
    kernel = kernel_over(settings, x.shape[1], doubles=reader.doubles)
    if isinstance(kernel, IntersectionKernel):
        return replace(kernel, unit=_unit(settings, x, reader))
    return replace(kernel, gamma=_gamma(settings, x)) if isinstance(kernel, RBFKernel) else kernel


def kernel_over(settings: Settings, n_columns: int, *, doubles: bool = False) -> ChannelKernel:
    """For so many columns, each of which may become two; parameters that follow from rows have their defaults."""
    weights, groups = group_weights(settings.weights, settings.groups, n_columns)
    bias = float(settings.bias)
    if settings.kernel == "hik":
        groups = np.concatenate([groups, groups]) if doubles else groups
        kind = NormalisedIntersectionKernel if settings.normalise else IntersectionKernel
        return kind(weights, groups, bias, settings.transform, float(settings.eta))
    return (LinearKernel if settings.kernel == "linear" else RBFKernel)(weights, groups, bias)


def untuned(settings: Settings, operator: Operator) -> Given:
    """The kernel and noise that the settings give, before tuning, for the rows of this operator."""
    if isinstance(operator, SumOperator):
        pairs = zip(settings.channels, operator.channels, strict=True)
        return sum_kernel(settings, [_untuned(own, channel) for own, channel in pairs]), float(settings.noise)
    return _untuned(settings, operator), float(settings.noise)


def sum_kernel(settings: Settings, channels: Sequence[ChannelKernel]) -> SumKernel:
    """The sum of these kernels, with the weights that the settings give."""
    assert isinstance(settings.kernel, tuple)
    weights = np.array([float(channel.weight) for channel in settings.kernel])
    return replace(SumKernel.of(tuple(channels), float(settings.bias)), weights=weights)


def _untuned(settings: Settings, operator: Operator) -> ChannelKernel:
    kernel = operator.kernel
    assert isinstance(kernel, ChannelKernel)
    given = settings.weights
    weights = np.ones_like(kernel.weights) if given is None else np.array(given, dtype=np.float64)
    kernel = replace(kernel, weights=weights, bias=float(settings.bias))
    if isinstance(kernel, IntersectionKernel):
        kernel = replace(kernel, eta=float(settings.eta))
    if isinstance(kernel, NormalisedIntersectionKernel):
        kernel = replace(kernel, amplitude=1.0)
    if isinstance(kernel, RBFKernel):
        gamma = _gamma(settings, operator.training_rows(np.arange(len(operator))))
        kernel = replace(kernel, gamma=gamma, amplitude=1.0)
    return kernel


def make_operator(
    settings: Settings, x: Table, reader: AnyReader, allocate: Allocate = np.empty, *, rows: bool = True
) -> Operator:
    """Over checked first rows. Histograms are kept in arrays made by `allocate`; without `rows` only their levels."""
    if isinstance(reader, ChannelReader):
        assert isinstance(settings.kernel, tuple)
        parts = zip(settings.channels, settings.kernel, reader.readers, strict=True)
        channels = [make_operator(own, c.of(x), one, allocate, rows=rows) for own, c, one in parts]
        kernels = [channel.kernel for channel in channels if isinstance(channel.kernel, ChannelKernel)]
        return SumOperator(channels, sum_kernel(settings, kernels))
    kernel = make_kernel(settings, x, reader)
    if isinstance(kernel, IntersectionKernel):
        make = Histograms.of if rows else Histograms.without_rows
        return histogram_operator(make(reader.coded(x), settings.levels, allocate), kernel)
    if isinstance(kernel, LinearKernel):
        return LinearOperator(x[:], kernel) if reader.sparse else DenseOperator(dense(x if rows else x[:0]), kernel)
    assert isinstance(kernel, RBFKernel)
    if not rows:
        return DenseOperator(dense(x[:0]), kernel)
    # A softmax fit is many products with the same matrix, which is stored if it fits.
    stored = settings.likelihood == "softmax" and 8 * x.shape[0] ** 2 <= settings.max_memory
    return (StoredOperator if stored else DenseOperator)(dense(x), kernel)


def make_regression(
    settings: Settings, operator: Operator, labels: Indices, n_classes: int, noise_factors: Floats | None = None
) -> LabelRegression:
    """Label regression over the rows of an operator; labels are their class numbers, n."""
    return LabelRegression(
        operator,
        labels,
        n_classes,
        noise=float(settings.noise),
        balance=settings.balance,
        noise_factors=noise_factors,
        rule=settings.posterior,
        max_memory=settings.max_memory,
    )


def make_softmax(settings: Settings, operator: Operator, labels: Indices, tree: ClassTree) -> SoftmaxClasses:
    """The softmax likelihood over the rows of an operator; labels are node numbers of the tree, n."""
    return SoftmaxClasses(
        operator,
        labels,
        tree,
        noise=float(settings.noise),
        max_memory=settings.max_memory,
        tie="node" if settings.class_variances else "depth",
    )


def _unit(settings: Settings, x: Table, reader: Reader) -> float:
    """Scale of the values with transform="exp": their maximum if hyperparameters are tuned, else 1."""
    if settings.transform != "exp" or settings.tune is None or reader.complement:
        return 1.0
    return reduced(x, _largest, max) or 1.0


def _gamma(settings: Settings, x: Table) -> float:
    """Of the RBF kernel; "scale" is that of scikit-learn, 1 / (columns * variance)."""
    if not isinstance(settings.gamma, str):
        return float(settings.gamma)
    return 1.0 / float(x.shape[1] * (reduced(x, Spread.of, Spread.joined).variance or 1.0))


@dataclass(frozen=True)
class Spread:
    """Of all numbers of a table, which may be read in blocks."""

    count: int
    mean: float
    squares: float  # sum of squared deviations

    @classmethod
    def of(cls, x: Table) -> "Spread":
        """Of a block."""
        numbers = dense(x)
        mean = float(numbers.mean()) if numbers.size else 0.0
        return cls(numbers.size, mean, float(((numbers - mean) ** 2).sum()))

    def joined(self, other: "Spread") -> "Spread":
        """Of both."""
        count, off = max(self.count + other.count, 1), other.mean - self.mean
        squares = self.squares + other.squares + off**2 * self.count * other.count / count
        return Spread(self.count + other.count, self.mean + off * other.count / count, squares)

    @property
    def variance(self) -> float:
        """The mean squared deviation."""
        return self.squares / max(self.count, 1)


def _largest(x: Table) -> float:
    return float(abs(x).max()) if x.shape[0] else 0.0
