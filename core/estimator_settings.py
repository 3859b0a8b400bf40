"""What both estimators share with scikit-learn's; the constructor arguments of GPHIKClassifier."""

import warnings
from collections.abc import Iterable
from typing import Any, Literal, Self

from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags

from core.drafts import Drafted
from core.histograms import LevelRule
from core.kernels import Transform
from core.linalg import AtBound
from core.posterior import PosteriorRule
from core.settings import KernelRule, Likelihood, TuneRule


class HiddenParameters(Drafted, BaseEstimator):  # type: ignore[misc]
    """An estimator whose arguments `transform` and `tune` are kept under other names.

    The attribute `tune` is a method, and scikit-learn takes whatever has an attribute `transform` for a transformer.
    """

    kernel: KernelRule
    complement: bool
    split: bool

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002
        """The constructor's arguments."""
        return {name: getattr(self, _attribute(name)) for name in self._get_param_names()}

    def set_params(self, **params: Any) -> Self:
        """Change constructor arguments; they take effect at the next fit."""
        unknown = set(params) - set(self._get_param_names())
        if unknown:
            raise ValueError(f"unknown parameters {sorted(unknown)}; there are {self._get_param_names()}")
        self.__dict__.update({_attribute(name): value for name, value in params.items()})
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = self.kernel == "hik" and not (self.complement or self.split)
        return tags

    def _warn(self, at_bounds: Iterable[AtBound]) -> None:
        """Of searches that ended at a bound."""
        for one in at_bounds:
            warnings.warn(f"{one}; beyond it there may be a better one", ConvergenceWarning, stacklevel=4)


class EstimatorSettings(HiddenParameters):
    """Keeps them unchecked until `fit`; `GPHIKClassifier` documents them."""

    def __init__(
        self,
        kernel: KernelRule = "hik",
        transform: Transform = None,
        eta: float = 1.0,
        weights: Any = None,
        noise: float = 0.1,
        bias: float = 1.0,
        complement: bool = False,
        split: bool = False,
        levels: LevelRule = "auto",
        balance: bool = False,
        posterior: PosteriorRule = "auto",
        groups: Any = None,
        gamma: float | Literal["scale"] = "scale",
        max_memory: float = 4 * 2**30,
        tune: TuneRule = None,
        tune_weights: bool = False,
        l1: float = 0.0,
        l2: float = 0.0,
        likelihood: Likelihood = "gaussian",
        tree: Any = None,
        class_variances: bool = False,
    ) -> None:
        self.kernel = kernel
        self._transform = transform
        self.eta = eta
        self.weights = weights
        self.noise = noise
        self.bias = bias
        self.complement = complement
        self.split = split
        self.levels = levels
        self.balance = balance
        self.posterior = posterior
        self.groups = groups
        self.gamma = gamma
        self.max_memory = max_memory
        self._tune = tune
        self.tune_weights = tune_weights
        self.l1 = l1
        self.l2 = l2
        self.likelihood = likelihood
        self.tree = tree
        self.class_variances = class_variances


def _attribute(parameter: str) -> str:
    return f"_{parameter}" if parameter in ("transform", "tune") else parameter
