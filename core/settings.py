"""What a user sets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from core._types import Table
from core.checks import check_choice, check_number
from core.histograms import Chunked, LevelRule
from core.kernels import Transform
from core.posterior import POSTERIORS, PosteriorRule
from core.probabilities import Likelihood
from core.tuning import CriterionName

KernelName = Literal["hik", "rbf", "linear"]
KernelRule = KernelName | Literal["auto"]
ModelRule = Literal["gp", "forest", "auto"]
LikelihoodRule = Likelihood | Literal["auto"]
TuneRule = CriterionName | Literal["cv"] | None


@dataclass(frozen=True)
class Channel:
    """A kernel of some columns, for a sum of kernels: the options are those of `Settings`.

    >>> Channel("rbf", columns=(300, 684)).width(700)
    384
    """

    kernel: KernelName = "hik"
    columns: tuple[int, int] | None = None  # from the first to before the last; None for all
    transform: Transform = None
    eta: float = 1.0
    normalise: bool = False
    complement: bool = False
    split: bool = False
    levels: LevelRule = "auto"
    gamma: float | Literal["scale"] = "scale"
    weight: float = 1.0  # where its search starts, in units of the mean of k(x, x)

    def width(self, n_columns: int) -> int:
        """How many of so many columns are the channel's; a ValueError where they are not there."""
        first, last = self.columns or (0, n_columns)
        if not 0 <= first < last <= n_columns:
            raise ValueError(f"a channel has the columns {first} to {last}, but there are {n_columns}")
        return last - first

    def of(self, x: Table) -> Table:
        """Its columns of a table."""
        width = self.width(x.shape[1])
        if self.columns is None:
            return x
        first, last = self.columns
        return x.changed(self.of, width) if isinstance(x, Chunked) else x[:, first:last]


@dataclass(frozen=True, eq=False)
class Settings:
    """The settings of a model, by the names that `GPHIKClassifier` documents."""

    kernel: KernelRule | tuple[Channel, ...] = "hik"
    transform: Transform = None
    eta: float = 1.0
    weights: Any = None
    noise: float = 0.1
    bias: float = 1.0
    normalise: bool = False
    complement: bool = False
    split: bool = False
    levels: LevelRule = "auto"
    balance: bool = False
    class_weights: Mapping[Any, float] | None = None
    posterior: PosteriorRule = "auto"
    groups: Any = None
    gamma: float | Literal["scale"] = "scale"
    max_memory: float = 4 * 2**30
    tune: TuneRule = None
    tune_weights: bool = False
    l1: float = 0.0
    l2: float = 0.0
    likelihood: LikelihoodRule = "gaussian"
    tree: Mapping[Any, Any] | None = None
    class_variances: bool = False
    model: ModelRule = "gp"
    n_trees: int = 10
    leaf_size: int = 500

    @property
    def lives_in_parts(self) -> bool:
        """Whether a pool under these settings may be in parts: dense vectors, softmax and forests are in one place."""
        kernel = isinstance(self.kernel, tuple) or self.kernel in ("hik", "auto")
        return kernel and self.likelihood != "softmax" and self.model != "forest"

    @property
    def leaves_likelihood(self) -> bool:
        """Whether either likelihood may be chosen: what belongs to label regression alone decides for it."""
        regression = self.balance or self.posterior != "auto" or self.l1 or self.l2 or self.model != "gp"
        return self.likelihood == "auto" and not regression

    def __post_init__(self) -> None:
        if isinstance(self.kernel, Sequence) and not isinstance(self.kernel, str):
            object.__setattr__(self, "kernel", tuple(self.kernel))

    @property
    def kernel_name(self) -> str:
        """The rule for the kernel, or "sum"."""
        return "sum" if isinstance(self.kernel, tuple) else self.kernel

    @property
    def channels(self) -> "tuple[Settings, ...]":
        """The settings of each channel of a sum of kernels."""
        if not isinstance(self.kernel, tuple):
            return ()
        own = ("kernel", "transform", "eta", "normalise", "complement", "split", "levels", "gamma")
        alone = replace(self, bias=0.0, weights=None, groups=None, tune_weights=False, posterior="auto")
        return tuple(replace(alone, **{name: getattr(channel, name) for name in own}) for channel in self.kernel)

    def check(self) -> None:
        """Raise a ValueError for what does not fit."""
        if isinstance(self.kernel, tuple):
            self._check_channels(self.kernel)
        else:
            self._check_kernel()

    def _check_kernel(self) -> None:
        check_choice("kernel", self.kernel, ("hik", "rbf", "linear", "auto"))
        check_choice("transform", self.transform, (None, "power", "exp"))
        check_choice("posterior", self.posterior, ("auto", *POSTERIORS))
        check_choice("likelihood", self.likelihood, ("gaussian", "softmax", "auto"))
        self._check_likelihood()
        self._check_model()
        for name in ("normalise", "complement", "split", "balance", "tune_weights", "class_variances"):
            check_choice(name, getattr(self, name), (False, True))
        for name in ("eta", "noise", "max_memory"):
            check_number(name, getattr(self, name), positive=True)
        for name in ("bias", "l1", "l2"):
            check_number(name, getattr(self, name), positive=False)
        self._check_class_weights()
        if not (isinstance(self.gamma, str) and self.gamma == "scale"):
            check_number("gamma", self.gamma, positive=True)
        if isinstance(self.levels, int | np.integer) and not isinstance(self.levels, bool):
            check_number("levels", self.levels, positive=True)
        else:
            check_choice("levels", self.levels, ("auto", "few", None, "a whole number"))
        self._check_together()

    def _check_class_weights(self) -> None:
        if self.class_weights is None:
            return
        if not isinstance(self.class_weights, Mapping):
            raise ValueError(
                f"class_weights must give the weight of classes, {{label: weight}}; got {self.class_weights!r}"
            )
        for label, weight in self.class_weights.items():
            check_number(f"class_weights[{label!r}]", weight, positive=True)

    def _check_together(self) -> None:
        """What of one kernel and its posterior goes together."""
        if self.kernel != "hik" and (self.normalise or self.complement or self.split or self.transform is not None):
            own = "normalise, complement, split and transform"
            raise ValueError(f'{own} belong to kernel="hik"; got kernel={self.kernel!r}')
        if self.complement and self.split:
            raise ValueError("complement and split are two ways to read the same numbers; choose one")
        if self.tune == "bound" and (self.kernel != "hik" or self.tune_weights):
            raise ValueError('tune="bound" is for kernel="hik" without tune_weights: the bound has no gradient')
        if self.normalise and (self.posterior == "levels" or self.tune == "bound"):
            raise ValueError(
                'normalise=True has no level space: it needs posterior="dual" or "iterative" and '
                'tune="loo" or "evidence"'
            )
        if self.kernel == "auto" and self.posterior != "auto":
            raise ValueError(f'kernel="auto" needs posterior="auto"; got {self.posterior!r}')
        if self.kernel != "hik" and self.posterior not in ("auto", "dual"):
            raise ValueError(f'kernel={self.kernel!r} needs posterior="dual"; got {self.posterior!r}')

    def _check_channels(self, channels: tuple[Channel, ...]) -> None:
        if not channels or not all(isinstance(channel, Channel) for channel in channels):
            raise ValueError(f"a sum of kernels needs a Channel for each of them; got {channels!r}")
        plain = Settings()
        for name in ("transform", "normalise", "complement", "split", "weights", "groups"):
            if getattr(self, name) is not getattr(plain, name):
                raise ValueError(f"{name} belongs to the channels of a sum of kernels, not beside them")
        if self.model != "gp" or self.posterior not in ("auto", "dual") or self.tune == "bound":
            raise ValueError('a sum of kernels needs model="gp", posterior="dual", and another tune than "bound"')
        for channel in channels:
            check_number("weight", channel.weight, positive=False)
        for settings in self.channels:
            settings.check()

    def _check_likelihood(self) -> None:
        if self.likelihood != "softmax":
            check_choice("tune", self.tune, (None, *get_args(CriterionName)))
            if self.tree is not None or self.class_variances:
                raise ValueError('tree and class_variances belong to likelihood="softmax"')
            return
        check_choice("tune", self.tune, (None, "cv"))
        if self.balance or self.class_weights is not None or self.posterior != "auto" or self.l1 or self.l2:
            raise ValueError('balance, class_weights, posterior, l1 and l2 belong to likelihood="gaussian"')
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
        if self.likelihood == "softmax":
            raise ValueError(
                f'model={self.model!r} needs likelihood="gaussian": the leaves of a forest are label regressions'
            )
        if self.balance or self.posterior != "auto" or self.l1 or self.l2 or self.tune not in (None, "loo"):
            raise ValueError(
                f'model={self.model!r} needs tune="loo" and posterior="auto", and knows no balance, l1 or l2: '
                'change these, or choose model="gp"'
            )
