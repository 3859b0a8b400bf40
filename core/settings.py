"""What a user sets, and the model's parts that follow from it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
import scipy.sparse as sp

from core._types import Floats, Indices, Table
from core.checks import check_choice, check_finite, check_not_negative, check_number
from core.evidence import CriterionName, Given
from core.histograms import (
    Allocate,
    Chunked,
    Complement,
    Histograms,
    LevelRule,
    blocks_of,
    raw_rows,
    reduced,
    split_signs,
)
from core.kernels import IntersectionKernel, Kernel, LinearKernel, RBFKernel, Transform, group_weights
from core.linalg import (
    DenseOperator,
    HistogramOperator,
    LinearOperator,
    Operator,
    Query,
    StoredOperator,
)
from core.posterior import POSTERIORS, LabelRegression, PosteriorRule
from core.softmax import ClassTree, SoftmaxClasses

KernelName = Literal["hik", "rbf", "linear"]
KernelRule = KernelName | Literal["auto"]
Likelihood = Literal["gaussian", "softmax"]
ModelRule = Literal["gp", "forest", "auto"]
TuneRule = CriterionName | Literal["cv"] | None


@dataclass(frozen=True)
class Reader:
    """How a table of numbers becomes rows of the operator: fixed when the first rows come."""

    histograms: bool
    complement: Complement | None
    split: bool = False
    sparse: bool = False  # rows may stay sparse where they are no histograms

    @property
    def doubles(self) -> bool:
        """Whether each column becomes two."""
        return self.split or self.complement is not None

    def check(self, x: Table) -> Table:
        """The table without duplicate entries, or a ValueError that names the value that cannot be used.

        One that is read in chunks is checked when it is read; rows are then counted from the first of the chunk.
        """
        if isinstance(x, Chunked):
            return x.changed(self.check)
        if sp.issparse(x) and not x.has_canonical_format:
            x = x.copy()
            x.sum_duplicates()
        check_finite(x)
        if self.histograms and not self.doubles:
            check_not_negative(x)
        return x

    def coded(self, x: Table) -> Table:
        """The numbers that are compared: complements or negative parts are joined here."""
        if isinstance(x, Chunked):
            return x.changed(self.coded, (1 + self.doubles) * x.shape[1])
        if self.split:
            return split_signs(x)
        return self.complement(x) if self.complement else x

    def __call__(self, x: Table) -> Query:
        """Checked rows as a query."""
        if self.histograms:
            return raw_rows(self.coded(x))
        return x if self.sparse else dense(x)


@dataclass(frozen=True, eq=False)
class Settings:
    """The settings of a model, by the names that `GPHIKClassifier` documents."""

    kernel: KernelRule = "hik"
    transform: Transform = None
    eta: float = 1.0
    weights: Any = None
    noise: float = 0.1
    bias: float = 1.0
    complement: bool = False
    split: bool = False
    levels: LevelRule = "auto"
    balance: bool = False
    posterior: PosteriorRule = "auto"
    groups: Any = None
    gamma: float | Literal["scale"] = "scale"
    max_memory: float = 4 * 2**30
    tune: TuneRule = None
    tune_weights: bool = False
    l1: float = 0.0
    l2: float = 0.0
    likelihood: Likelihood = "gaussian"
    tree: Mapping[Any, Any] | None = None
    class_variances: bool = False
    model: ModelRule = "gp"
    n_trees: int = 10
    leaf_size: int = 500

    @property
    def lives_in_parts(self) -> bool:
        """Whether a pool under these settings may be in parts: dense vectors, softmax and forests are in one place."""
        return self.kernel in ("hik", "auto") and self.likelihood == "gaussian" and self.model != "forest"

    def check(self) -> None:
        """Raise a ValueError for what does not fit."""
        check_choice("kernel", self.kernel, ("hik", "rbf", "linear", "auto"))
        check_choice("transform", self.transform, (None, "power", "exp"))
        check_choice("posterior", self.posterior, ("auto", *POSTERIORS))
        check_choice("likelihood", self.likelihood, get_args(Likelihood))
        self._check_likelihood()
        self._check_model()
        for name in ("complement", "split", "balance", "tune_weights", "class_variances"):
            check_choice(name, getattr(self, name), (False, True))
        for name in ("eta", "noise", "max_memory"):
            check_number(name, getattr(self, name), positive=True)
        for name in ("bias", "l1", "l2"):
            check_number(name, getattr(self, name), positive=False)
        if not (isinstance(self.gamma, str) and self.gamma == "scale"):
            check_number("gamma", self.gamma, positive=True)
        if isinstance(self.levels, int | np.integer) and not isinstance(self.levels, bool):
            check_number("levels", self.levels, positive=True)
        else:
            check_choice("levels", self.levels, ("auto", None, "a whole number"))
        if self.kernel != "hik" and (self.complement or self.split or self.transform is not None):
            raise ValueError(f'complement, split and transform belong to kernel="hik"; got kernel={self.kernel!r}')
        if self.complement and self.split:
            raise ValueError("complement and split are two ways to read the same numbers; choose one")
        if self.tune == "bound" and (self.kernel != "hik" or self.tune_weights):
            raise ValueError('tune="bound" is for kernel="hik" without tune_weights: the bound has no gradient')
        if self.kernel == "auto" and self.posterior != "auto":
            raise ValueError(f'kernel="auto" needs posterior="auto"; got {self.posterior!r}')
        if self.kernel != "hik" and self.posterior not in ("auto", "dual"):
            raise ValueError(f'kernel={self.kernel!r} needs posterior="dual"; got {self.posterior!r}')

    def _check_likelihood(self) -> None:
        if self.likelihood == "gaussian":
            check_choice("tune", self.tune, (None, *get_args(CriterionName)))
            if self.tree is not None or self.class_variances:
                raise ValueError('tree and class_variances belong to likelihood="softmax"')
            return
        check_choice("tune", self.tune, (None, "cv"))
        if self.balance or self.posterior != "auto" or self.l1 or self.l2:
            raise ValueError('balance, posterior, l1 and l2 belong to likelihood="gaussian"')
        if self.tree is not None and self.kernel == "auto":
            raise ValueError('kernel="auto" compares kernels by label regression, which knows no tree: name a kernel')
        if self.tree is not None and not isinstance(self.tree, Mapping):
            raise ValueError(f"tree must give the parent of each node, {{name: parent}}; got {self.tree!r}")

    def _check_model(self) -> None:
        check_choice("model", self.model, get_args(ModelRule))
        for name in ("n_trees", "leaf_size"):
            check_number(name, getattr(self, name), positive=True)
            if getattr(self, name) != int(getattr(self, name)):
                raise ValueError(f"{name} must be a whole number; got {getattr(self, name)!r}")
        if self.model == "gp":
            return
        if self.likelihood != "gaussian":
            raise ValueError(
                f'model={self.model!r} needs likelihood="gaussian": the leaves of a forest are label regressions'
            )
        if self.balance or self.posterior != "auto" or self.l1 or self.l2 or self.tune not in (None, "loo"):
            raise ValueError(
                f'model={self.model!r} needs tune="loo" and posterior="auto", and knows no balance, l1 or l2: '
                'change these, or choose model="gp"'
            )

    def reader(self, x: Table) -> Reader:
        """For checked first rows: the scale of complements is theirs."""
        sparse = self.kernel == "linear" and self.likelihood == "softmax"
        return Reader(self.kernel == "hik", Complement.of(x) if self.complement else None, self.split, sparse)

    def make_kernel(self, x: Table, reader: Reader) -> Kernel:
        """Of checked first rows: their number of columns, and their spread where gamma is to fit it."""
        weights, groups = group_weights(self.weights, self.groups, x.shape[1])
        bias = float(self.bias)
        if self.kernel == "hik":
            if reader.doubles:
                groups = np.concatenate([groups, groups])
            return IntersectionKernel(weights, groups, bias, self.transform, float(self.eta), self._unit(x, reader))
        if self.kernel == "linear":
            return LinearKernel(weights, groups, bias)
        return RBFKernel(weights, groups, bias, self._gamma(x))

    def untuned(self, operator: Operator) -> Given:
        """Kernel and noise as they are set, for the rows of an operator whose kernel may have been tuned."""
        kernel = operator.kernel
        weights = np.ones_like(kernel.weights) if self.weights is None else np.array(self.weights, dtype=np.float64)
        kernel = replace(kernel, weights=weights, bias=float(self.bias))
        if isinstance(kernel, IntersectionKernel):
            kernel = replace(kernel, eta=float(self.eta))
        if isinstance(kernel, RBFKernel):
            kernel = replace(kernel, gamma=self._gamma(operator.own(np.arange(len(operator)))), amplitude=1.0)
        return kernel, float(self.noise)

    def _unit(self, x: Table, reader: Reader) -> float:
        """Of values under "exp": the largest one, where a search may choose, or else 1."""
        if self.transform != "exp" or self.tune is None or reader.complement:
            return 1.0
        return reduced(x, _largest, max) or 1.0

    def _gamma(self, x: Table) -> float:
        if not isinstance(self.gamma, str):
            return float(self.gamma)
        return 1.0 / float(x.shape[1] * (dense(x).var() or 1.0))

    def operator(self, x: Table, reader: Reader, allocate: Allocate = np.empty, *, rows: bool = True) -> Operator:
        """Of checked first rows; coded ones are kept in arrays made by `allocate`, or without `rows` not at all."""
        kernel = self.make_kernel(x, reader)
        if isinstance(kernel, IntersectionKernel):
            make = Histograms.of if rows else Histograms.without_rows
            return HistogramOperator(make(reader.coded(x), self.levels, allocate), kernel)
        if isinstance(kernel, LinearKernel):
            return LinearOperator(x[:], kernel) if reader.sparse else DenseOperator(dense(x), kernel)
        assert isinstance(kernel, RBFKernel)
        # A softmax fit is many products with the same matrix.
        stored = self.likelihood == "softmax" and 8 * x.shape[0] ** 2 <= self.max_memory
        return (StoredOperator if stored else DenseOperator)(dense(x), kernel)

    def regression(self, operator: Operator, labels: Indices, n_classes: int) -> LabelRegression:
        """Of an operator and the class numbers of its rows."""
        return LabelRegression(
            operator,
            labels,
            n_classes,
            noise=float(self.noise),
            balance=self.balance,
            rule=self.posterior,
            max_memory=self.max_memory,
        )

    def softmax(self, operator: Operator, labels: Indices, tree: ClassTree) -> SoftmaxClasses:
        """The same under the softmax likelihood; labels are numbers of the tree's nodes."""
        return SoftmaxClasses(
            operator,
            labels,
            tree,
            noise=float(self.noise),
            max_memory=self.max_memory,
            tie="node" if self.class_variances else "depth",
        )


def _largest(x: Table) -> float:
    return float(abs(x).max()) if x.shape[0] else 0.0


def dense(x: Table) -> Floats:
    """The table as a dense array."""
    if isinstance(x, Chunked):
        return np.concatenate([dense(block) for block in blocks_of(x)])
    return np.asarray(x.toarray() if sp.issparse(x) else x)


def as_table(x: Any) -> Table:
    """Rows of numbers, dense or CSR, from what a user gives; values are not looked at.

    >>> as_table([[1, 2]]).dtype
    dtype('float64')
    """
    if isinstance(x, Chunked) and x.shape[0]:
        return x
    table = x.tocsr().astype(np.float64) if sp.issparse(x) else np.asarray(x, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] == 0 or table.shape[1] == 0:
        raise ValueError(f"items must be a table with at least one row and one column; got shape {table.shape}")
    return table
