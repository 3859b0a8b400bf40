"""What every model of a pool can do: the protocol that learner and queries know, and what readers see of it."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from core._jit.ahead import Items
from core._types import Floats, Indices
from core.classes import ClassTree
from core.linalg import AtBound, KernelExpansion, Operator, Predictor
from core.models.parameters import Parameters
from core.models.state import PoolState
from core.posterior import Part, Parts, one_vs_all
from core.posterior.base import Variances
from core.posterior.parts import best_classes, concatenate_parts
from core.probabilities import Likelihood, best_class, class_probabilities, error_probabilities, most_probable
from core.rows import Rows
from core.settings import Settings
from core.softmax import Targets
from core.variance import PriorVariance, VarianceName

ModelName = Literal["gp", "forest"]

MIN_SHARE = 1e-12  # floor of 1 - variance / noise, one minus the leverage of a label: below it is rounding error


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Leave-one-out predictions of the n labelled items: what all other labels say of each."""

    items: Indices  # n
    labels: Indices  # n, node numbers
    means: Floats  # n x M
    variances: Floats  # n, predictive variance of the target, noise included
    probabilities: Floats  # n x M

    @property
    def predicted(self) -> Indices:
        """The class that the other labels predict, n."""
        return most_probable(self.probabilities, self.means)


class ItemPredictions(Protocol):
    """Predictions for the items of a pool at one moment: immutable, for any number of readers."""

    def probabilities(self, items: Indices | None = None) -> Floats:
        """Class probabilities of some items, or of all; items x M."""

    def predicted(self, items: Indices | None = None) -> Indices:
        """The most probable class number of some items, or of all m."""

    def uncertainty(self) -> Floats:
        """The probability that the predicted class is wrong, of all items; m."""

    def left_out(self, items: Indices, labels: Indices, noises: Floats, tree: ClassTree) -> LeftOut:
        """Each of n labels (node numbers) predicted by the others; `noises` are the noise variances of the labels."""


class PoolModel(Protocol):
    """A model of a pool of m items, n of them labelled, with M classes, which are numbers here (see core.classes).

    After each change, mean and variance of all items are those of a fresh fit on the labels there are. A change that
    fails leaves the model as it was. All models are tested by tests/core/models/contract.py. A new one also has the
    class methods `begin` and `load` that the others have, and an entry in `core.models.registry.MODELS`.
    """

    @property
    def kind(self) -> ModelName:
        """What users call it: "gp" is one Gaussian process under either likelihood, "forest" has one in every leaf."""

    @property
    def solver(self) -> str:
        """How it is solved: "dual", "levels", "iterative", "softmax" or "forest"."""

    @property
    def rounds(self) -> int:
        """Iterations of conjugate gradients; 0 with a direct solver."""

    def __len__(self) -> int: ...

    def draft(self) -> Self:
        """A copy to be changed, which shares what never changes (see core.drafts)."""

    @property
    def labelled_items(self) -> list[int]:
        """Items in the order their labels came, n."""

    @property
    def numbers(self) -> Indices:
        """The node number of each of them, n."""

    @property
    def noise_factors(self) -> Floats:
        """By what the noise of each of their labels is multiplied, n."""

    @property
    def labels(self) -> Indices:
        """The node number of each item, -1 without a label; m."""

    @property
    def noise(self) -> float:
        """Variance of the noise on a target."""

    @property
    def noises(self) -> Floats:
        """The variance of the noise on each item's label, or on one to come; m."""

    @property
    def mean(self) -> Floats:
        """Posterior means of the latent functions of all items, m x M."""

    @property
    def variance(self) -> Floats:
        """Posterior variances of the latent functions of all items, without noise; m."""

    @property
    def parts(self) -> Parts:
        """All items with mean and variance, wherever they are."""

    @property
    def all_rows(self) -> Rows:
        """All items as encoded rows, which the operator reads."""

    @property
    def operator(self) -> Operator:
        """The kernel matrix of the labelled rows as a linear operator; `.kernel` is the kernel in use."""

    @property
    def predictor(self) -> Predictor:
        """The means as a function of rows, which later changes do not touch."""

    @property
    def hyperparameters(self) -> dict[str, float]:
        """Kernel parameters and noise in use, by name."""

    @property
    def is_outgrown(self) -> bool:
        """Whether a leaf has so many new labels that training would split it."""

    @property
    def parameters(self) -> Parameters:
        """What training found, to begin from again; `ModelInUse` adds the names of kernel and model."""

    @property
    def item_predictions(self) -> ItemPredictions:
        """What readers see of the items."""

    @property
    def over_parts(self) -> "PartsModel | None":
        """This model if its pool may be in parts, else None."""

    def append(self, rows: Rows) -> None:
        """Add items. Histograms get new levels for their values while the limit of levels allows."""

    def learn(self, items: Indices, numbers: Indices, noise_factors: Floats, *, refresh: bool = True) -> None:
        """Items without a label get these node numbers; `noise_factors` multiply their noise.

        Without `refresh`, means and variances of the pool stay stale until `catch_up`.
        """

    def forget(self, item: int) -> None:
        """Take the label of an item back."""

    def relabel(self, item: int, number: int) -> None:
        """Give a labelled item another node number."""

    def renumber(self, numbers: Indices, tree: ClassTree) -> None:
        """Change to another class tree: old node i becomes node numbers[i]."""

    def tune(
        self,
        settings: Settings,
        on_step: Callable[[], object],
        drawn: Collection[int] = (),
    ) -> tuple[AtBound, ...] | None:
        """Find hyperparameters and use them; returns those that ended at a bound of the search.

        None if there is too little to learn from. Items that were `drawn` at random stand for the pool, where it is
        found how sure to be of it. A search starts from the hyperparameters in use and from those of
        the settings.
        """

    def refit(self) -> None:
        """Solve from scratch; the pool stays as it was."""

    def refresh(self) -> None:
        """Compute mean and variance of all items from scratch."""

    def catch_up(self) -> None:
        """Refresh after labels that were learnt without."""

    def rows(self, items: Indices) -> Rows:
        """Some items as encoded rows."""

    def means(self, rows: Rows) -> Floats:
        """Posterior means of any rows, in the pool or not; rows x M."""

    def moments(self, rows: Rows) -> tuple[Floats, Floats]:
        """Posterior means (rows x M) and variances (rows) of any rows, in the pool or not."""

    def predict(self, rows: Rows) -> Indices:
        """The most probable class of any rows, in the pool or not; rows."""

    def predictive(self, rows: Rows, variance: VarianceName = "exact") -> tuple[Floats, Floats, Floats]:
        """Means, variances (exact, or an upper bound) and class probabilities (rows x M) of any rows."""

    @property
    def variances(self) -> tuple[VarianceName, ...]:
        """Which variances it has: the exact one, and upper bounds that cost less."""

    def variance_by(self, name: VarianceName) -> Variances:
        """The variance of any rows, or an upper bound of it; a ValueError where the model has no such bound."""

    @property
    def prior(self) -> PriorVariance:
        """The prior variance of any rows as a function, which later changes do not touch."""

    def covariance(self, rows: Indices, columns: Indices) -> Floats:
        """Posterior covariance of items, rows x columns."""

    def kernel(self, rows: Indices, columns: Indices) -> Floats:
        """Prior covariance of items, rows x columns."""

    def state(self, items: Indices, reference: Indices) -> PoolState:
        """What query strategies look at, for some items; `reference` stands for the whole pool."""

    def residual(self) -> float:
        """Relative residual of the solution; under softmax the relative gradient at which the fit ended."""

    def dump(self, *, warm: bool) -> dict[str, NDArray[Any]]:
        """Arrays that `load` needs besides rows, labels and hyperparameters; `warm` adds where a fit may start."""


class PartsModel(PoolModel, Protocol):
    """A model whose pool may be in parts, in other processes or on other machines."""

    def covariance_with(self, rows: Rows) -> KernelExpansion:
        """The functions x -> posterior covariance with each of these rows."""

    def kernel_with(self, rows: Rows) -> KernelExpansion:
        """The functions x -> prior covariance with each of these rows."""

    def around(self, reference: Indices) -> Items:
        """The posterior of items that stand for the pool."""


@dataclass(frozen=True, eq=False)
class MomentPredictions:
    """The answers of a model whose probabilities follow from mean and variance."""

    parts: Parts
    noise: float
    likelihood: Likelihood
    sharpness: float | None = None  # of label regression, where it was found

    def probabilities(self, items: Indices | None = None) -> Floats:
        """Class probabilities of some items, or of all; items x M."""
        if items is None:
            return concatenate_parts(self.parts.collect(_Probabilities(self.likelihood, self.noise, self.sharpness)))
        some = self.parts.take(items)
        return class_probabilities(self.likelihood, some.mean, some.variance + self.noise, self.sharpness)

    def predicted(self, items: Indices | None = None) -> Indices:
        """The class with the largest mean, of some items or of all."""
        return (
            concatenate_parts(self.parts.collect(best_classes))
            if items is None
            else best_class(self.parts.take(items).mean)
        )

    def uncertainty(self) -> Floats:
        """The probability that the predicted class is wrong, of all items; m."""
        return concatenate_parts(self.parts.collect(_Uncertainty(self.likelihood, self.noise, self.sharpness)))

    def left_out(self, items: Indices, labels: Indices, noises: Floats, tree: ClassTree) -> LeftOut:
        """Each label predicted by the others, from the moments: no system is solved for it.

        With N = diag(noises), mu_-i the mean without label i, and B = (K + N)^-1 = N^-1 - N^-1 cov N^-1, the posterior
        covariance of the labelled items gives B_ii = (1 - var_i / N_i) / N_i, and
        mean_i - mu_-i = alpha_i var_i / (1 - var_i / N_i) with alpha_i = (y_i - mean_i) / N_i (core/DESIGN.md, section
        6). Under the softmax likelihood alpha_i is y_i less the probabilities,
        which makes it the first step towards what the others say.
        """
        some = self.parts.take(items)
        mean, variance = some.mean, some.variance
        share = np.clip(1.0 - variance / noises, MIN_SHARE, 1.0)
        if self.likelihood == "gaussian":
            targets = one_vs_all(labels, tree.n_classes)
            means = targets - (targets - mean) / share[:, None]
        else:
            p = class_probabilities(self.likelihood, mean, noises)
            surprise = Targets.of(labels, tree).expected(p[:, None])[:, 0] - p
            means = mean - surprise * (variance / share * self.noise / noises)[:, None]
        variances = noises / share
        probabilities = class_probabilities(self.likelihood, means, variances, self.sharpness)
        return LeftOut(items, labels, means, variances, probabilities)


@dataclass(frozen=True)
class _Probabilities:
    """Picklable function for `Parts.collect`: the class probabilities of each item."""

    likelihood: Likelihood
    noise: float
    sharpness: float | None

    def __call__(self, _: int, part: Part) -> Floats:
        return class_probabilities(self.likelihood, part.mean, part.variance + self.noise, self.sharpness)


@dataclass(frozen=True)
class _Uncertainty:
    """Picklable function for `Parts.collect`: the probability that the predicted class is wrong, of each item."""

    likelihood: Likelihood
    noise: float
    sharpness: float | None

    def __call__(self, _: int, part: Part) -> Floats:
        found = class_probabilities(self.likelihood, part.mean, part.variance + self.noise, self.sharpness)
        return error_probabilities(found)
