"""What a user sets."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from core.checks import check_choice, check_number
from core.histograms import LevelRule
from core.kernels import Transform
from core.posterior import POSTERIORS, PosteriorRule
from core.probabilities import Likelihood
from core.tuning import CriterionName

KernelName = Literal["hik", "rbf", "linear"]
KernelRule = KernelName | Literal["auto"]
ModelRule = Literal["gp", "forest", "auto"]
TuneRule = CriterionName | Literal["cv"] | None


@dataclass(frozen=True, eq=False)
class Settings:
    """The settings of a model, by the names that `GPHIKClassifier` documents."""

    kernel: KernelRule = "hik"
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
        for name in ("normalise", "complement", "split", "balance", "tune_weights", "class_variances"):
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
        if self.kernel != "hik" and (self.normalise or self.complement or self.split or self.transform is not None):
            own = "normalise, complement, split and transform"
            raise ValueError(f'{own} belong to kernel="hik"; got kernel={self.kernel!r}')
        if self.complement and self.split:
            raise ValueError("complement and split are two ways to read the same numbers; choose one")
        if self.tune == "bound" and (self.kernel != "hik" or self.tune_weights):
            raise ValueError('tune="bound" is for kernel="hik" without tune_weights: the bound has no gradient')
        if self.normalise and (self.posterior not in ("auto", "dual") or self.tune == "bound"):
            raise ValueError(
                'normalise=True has no level space: it needs posterior="dual" and tune="loo" or "evidence"'
            )
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
