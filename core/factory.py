"""Makes reader, kernel, operator and model from settings and the first rows."""

from dataclasses import replace

import numpy as np

from core._types import Indices, Table
from core.classes import ClassTree
from core.histograms import Allocate, Complement, Histograms, reduced
from core.kernels import (
    IntersectionKernel,
    Kernel,
    LinearKernel,
    NormalisedIntersectionKernel,
    RBFKernel,
    group_weights,
)
from core.linalg import DenseOperator, LinearOperator, Operator, StoredOperator, histogram_operator
from core.posterior import LabelRegression
from core.settings import Settings
from core.softmax import SoftmaxClasses
from core.tables import Reader, dense
from core.tuning import Given


def make_reader(settings: Settings, x: Table) -> Reader:
    """For checked first rows: complements use the range of these."""
    return reader_with(settings, Complement.of(x) if settings.complement else None)


def reader_with(settings: Settings, complement: Complement | None) -> Reader:
    """With given complements, or none."""
    sparse = settings.kernel == "linear" and settings.likelihood == "softmax"
    return Reader(settings.kernel == "hik", complement, settings.split, sparse)


def make_kernel(settings: Settings, x: Table, reader: Reader) -> Kernel:
    """For checked first rows: their number of columns, and their variance with gamma="scale"."""
    kernel = kernel_over(settings, x.shape[1], doubles=reader.doubles)
    if isinstance(kernel, IntersectionKernel):
        return replace(kernel, unit=_unit(settings, x, reader))
    return replace(kernel, gamma=_gamma(settings, x)) if isinstance(kernel, RBFKernel) else kernel


def kernel_over(settings: Settings, n_columns: int, *, doubles: bool = False) -> Kernel:
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
    kernel = operator.kernel
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
    return kernel, float(settings.noise)


def make_operator(
    settings: Settings, x: Table, reader: Reader, allocate: Allocate = np.empty, *, rows: bool = True
) -> Operator:
    """Over checked first rows. Histograms are kept in arrays made by `allocate`; without `rows` only their levels."""
    kernel = make_kernel(settings, x, reader)
    if isinstance(kernel, IntersectionKernel):
        make = Histograms.of if rows else Histograms.without_rows
        return histogram_operator(make(reader.coded(x), settings.levels, allocate), kernel)
    if isinstance(kernel, LinearKernel):
        return LinearOperator(x[:], kernel) if reader.sparse else DenseOperator(dense(x), kernel)
    assert isinstance(kernel, RBFKernel)
    # A softmax fit is many products with the same matrix, which is stored if it fits.
    stored = settings.likelihood == "softmax" and 8 * x.shape[0] ** 2 <= settings.max_memory
    return (StoredOperator if stored else DenseOperator)(dense(x), kernel)


def make_regression(settings: Settings, operator: Operator, labels: Indices, n_classes: int) -> LabelRegression:
    """Label regression over the rows of an operator; labels are their class numbers, n."""
    return LabelRegression(
        operator,
        labels,
        n_classes,
        noise=float(settings.noise),
        balance=settings.balance,
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
    return 1.0 / float(x.shape[1] * (dense(x).var() or 1.0))


def _largest(x: Table) -> float:
    return float(abs(x).max()) if x.shape[0] else 0.0
