"""Label regression over a pool: a Gaussian process, the posterior of all items, and the labels of some of them."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from core._jit.ahead import Items
from core._types import Arrays, Floats, Indices, no_rows
from core.classes import ClassTree
from core.drafts import Drafted, all_or_nothing
from core.factory import make_regression, untuned
from core.kernels import Kernel
from core.linalg import AtBound, HistogramOperator, KernelExpansion, Operator, Predictor
from core.models.base import ModelName, MomentPredictions
from core.models.look_ahead import one_posterior
from core.models.parameters import Parameters, by_name
from core.models.state import PoolState
from core.posterior import LabelRegression, LocalParts, Part, Parts, PoolPosterior, one_vs_all
from core.posterior.base import Variances
from core.posterior.parts import kept
from core.probabilities import best_class, class_probabilities
from core.rows import Rows
from core.settings import Settings, TuneRule
from core.tuning import CriterionName, asked_sharpness, mean_gap, raise_noise, tune
from core.variance import LastBounds, PriorVariance, VarianceName, variance_by, variances_of

MAX_DRIFT = 1e-7  # relative; above it the pool is computed from scratch after a label was taken back
GAP_ITEMS = 10_000  # whose gaps tell how sharp probabilities are, at most
BLOCK = 64  # labels in one low-rank update of the pool


class GaussianPool(Drafted):
    """Label regression (targets +1 and -1 for each class) on the labelled items, and the posterior of all items.

    After each change, mean and variance of all items are those of a fresh fit on the labels there are. Training row
    i of `model` is the item `labelled_items[i]` of the pool.
    """

    kind: ModelName = "gp"
    is_outgrown = False  # there are no trees

    def __init__(self, model: LabelRegression, pool: PoolPosterior, labelled_items: list[int] | None = None) -> None:
        self.model = model
        self.pool = pool
        model.pool_size = pool.size
        self.labelled_items = labelled_items or []  # items in the order their labels came
        self._bounds = LastBounds()
        self._simplex: Floats | None = None  # where the last Nelder-Mead search ended, to start the next

    @classmethod
    def begin(
        cls,
        settings: Settings,
        operator: Operator,
        parts: Parts,
        noises: Sequence[float],
        tree: ClassTree,
        parameters: Parameters | None = None,
    ) -> "GaussianPool":
        """A model without labels over a pool whose rows the operator can read; it has one noise."""
        model = make_regression(replace(settings, noise=noises[0]), operator.only(no_rows()), no_rows(), tree.n_classes)
        model.sharpness = None if parameters is None else parameters.sharpness
        return cls(model, PoolPosterior(model.posterior, kept(parts, settings.max_memory)))

    @classmethod
    def load(
        cls, settings: Settings, operator: Operator, rows: Rows, tree: ClassTree, arrays: Arrays
    ) -> "GaussianPool":
        """From what was dumped; `operator` and `rows` are those of all items. The posterior is solved from scratch."""
        model = make_regression(settings, operator.only(no_rows()), no_rows(), tree.n_classes)
        model.noise = float(arrays["theta"][-1])
        model.sharpness = float(arrays["sharpness"]) if "sharpness" in arrays else None
        model.operator = operator.only(arrays["learnt"])
        model.labels, model.noise_factors = arrays["labels"], arrays["factors"]
        parts = LocalParts(Part(rows, arrays["mean"], arrays["variance"]))
        pool = PoolPosterior.of(kept(parts, settings.max_memory))
        labelled = cls(model, pool, arrays["learnt"].tolist())
        labelled.refit()
        if not isinstance(operator, HistogramOperator):  # which keeps no columns
            pool.prepare(model.posterior)
        return labelled

    def draft(self) -> Self:
        twin = super().draft()
        twin.model, twin.pool, twin.labelled_items = self.model.draft(), self.pool.draft(), list(self.labelled_items)
        return twin

    def __len__(self) -> int:
        return len(self.pool)

    @property
    def mean(self) -> Floats:
        """Of all items, m x M."""
        return self.pool.mean

    @property
    def variance(self) -> Floats:
        """Of all items, m."""
        return self.pool.variance

    @property
    def parts(self) -> Parts:
        """All items, wherever they are."""
        return self.pool.parts

    @property
    def all_rows(self) -> Rows:
        """All items as encoded rows."""
        return self.pool.rows

    @property
    def numbers(self) -> Indices:
        """The class number of each labelled item."""
        return self.model.labels

    @property
    def noise_factors(self) -> Floats:
        """What multiplies the noise of each label, n."""
        return self.model.noise_factors

    @property
    def operator(self) -> Operator:
        """The kernel over the labelled items."""
        return self.model.operator

    @property
    def noise(self) -> float:
        """Variance of the noise on a target."""
        return self.model.noise

    @property
    def solver(self) -> str:
        """Name of the posterior in use."""
        return self.model.name

    @property
    def rounds(self) -> int:
        """Of conjugate gradients, if it is the iterative one."""
        return getattr(self.model.posterior, "rounds", 0)

    @property
    def predictor(self) -> Predictor:
        """The means as a function, which later changes do not touch."""
        return self.model.posterior.predictor

    @property
    def hyperparameters(self) -> dict[str, float]:
        """Kernel parameters and noise in use, by name."""
        return by_name(self.operator.kernel, self.noise)

    @property
    def parameters(self) -> Parameters:
        """What training found."""
        return Parameters(theta=tuple(self.hyperparameters.values()), sharpness=self.model.sharpness)

    @property
    def item_predictions(self) -> MomentPredictions:
        """What readers see of the items."""
        return MomentPredictions(self.parts, self.noise, "gaussian", self.model.sharpness)

    @property
    def over_parts(self) -> "GaussianPool":
        """The same model: its pool may be in parts."""
        return self

    @property
    def labels(self) -> Indices:
        """The class number of each item, -1 without a label."""
        labels = np.full(len(self), -1, dtype=np.int64)
        labels[self.labelled_items] = self.model.labels
        return labels

    @property
    def noises(self) -> Floats:
        """The variance of the noise on each item's label, or on one to come."""
        noises = np.full(len(self), self.model.noise)
        noises[self.labelled_items] = self.model.posterior.noise
        return noises

    @all_or_nothing
    def append(self, rows: Rows) -> None:
        """More items, with levels for their values where there is room."""
        rows = self.model.learn_levels(rows)
        self.pool.append(self.model.posterior, rows)
        self.model.pool_size = self.pool.size

    @all_or_nothing
    def learn(self, items: Indices, numbers: Indices, noise_factors: Floats, *, refresh: bool = True) -> None:
        """Items without a label get these class numbers; `noise_factors` multiply their noise.

        Without `refresh` the pool is left behind until `catch_up`.
        """
        if not refresh:
            self._add(items, self.rows(items), numbers, noise_factors)
            return
        if self.model.balance or len(items) > max(BLOCK, len(self.labelled_items) // 8):
            self._add(items, self.rows(items), numbers, noise_factors)
            self.refresh()
            return
        for first in range(0, len(items), BLOCK):
            some = slice(first, first + BLOCK)
            rows = self.rows(items[some])  # the same for both, who solve the same system
            targets = one_vs_all(numbers[some], self.model.n_classes)
            noise = self.model.noise * noise_factors[some]
            self.pool.learn(self.model.posterior, rows, targets, noise)
            self._add(items[some], rows, numbers[some], noise_factors[some])

    def _add(self, items: Indices, rows: Rows, numbers: Indices, noise_factors: Floats) -> None:
        """Labels for the model alone: the pool does not know them yet."""
        self.model.add(rows, numbers, noise_factors=noise_factors)
        self.labelled_items += items.tolist()

    @all_or_nothing
    def forget(self, item: int) -> None:
        """An item loses its label."""
        index = self.labelled_items.index(item)
        if not self.model.balance:
            self.pool.forget(self.model.posterior, index)
        self.model.remove(np.array([index]))
        del self.labelled_items[index]
        if self.model.balance or not (self.residual() <= MAX_DRIFT and self._drift(item) <= MAX_DRIFT):
            self.refresh()

    @all_or_nothing
    def relabel(self, item: int, number: int) -> None:
        """A labelled item gets another class number."""
        index = self.labelled_items.index(item)
        labels, n_classes = self.model.labels.copy(), self.model.n_classes
        labels[index] = number
        if not self.model.balance:
            self.pool.relabel(self.model.posterior, index, one_vs_all(np.array([number]), n_classes)[0])
        self.model.relabel(labels, n_classes)
        self._refresh_if_balanced()

    @all_or_nothing
    def renumber(self, numbers: Indices, tree: ClassTree) -> None:
        """Old classes have these numbers from now on: classes come or are merged."""
        self.model.relabel(numbers[self.numbers], tree.n_classes)
        self.pool.retarget(self.model.posterior)
        self._refresh_if_balanced()

    @all_or_nothing
    def tune(
        self, settings: Settings, on_step: Callable[[], object], drawn: Collection[int] = ()
    ) -> tuple[AtBound, ...]:
        """Find hyperparameters by the criterion of the settings, and use them; what ended at a bound.

        With tune="none" they stay as they are, and only the sharpness of probabilities is found.
        """
        at_bounds: tuple[AtBound, ...] = ()
        if settings.tune == "none":
            self.catch_up()
        else:
            at_bounds = self._search(settings.tune, settings, on_step)
        free = np.flatnonzero(self.labels < 0)
        some = self.parts.take(free[:GAP_ITEMS])
        gap = mean_gap(some.mean) if len(free) else 1.0
        deviation = float(np.sqrt(some.variance + self.noise).mean()) if len(free) else 1.0
        at_random = np.isin(self.labelled_items, list(drawn))
        self.model.sharpness = asked_sharpness(self.model, gap, deviation, at_random)
        return at_bounds

    def _search(self, rule: TuneRule, settings: Settings, on_step: Callable[[], object]) -> tuple[AtBound, ...]:
        """Use the kernel and noise that are best by the criterion; leave-one-out error may find too little noise."""
        criterion: CriterionName = "loo" if rule is None or rule == "cv" else rule
        found = tune(
            self.model,
            criterion,
            settings=untuned(settings, self.operator),
            weights=settings.tune_weights,
            simplex=self._simplex,
            l1=settings.l1,
            l2=settings.l2,
            on_step=on_step,
        )
        self._simplex = found.simplex
        self.model.reset(found.kernel, found.noise)
        if criterion == "loo":
            raise_noise(self.model, on_step)
        self.refresh()
        return found.at_bounds

    @all_or_nothing
    def reset(self, kernel: Kernel, noise: float) -> None:
        """Another kernel and noise for the same labels."""
        self.model.reset(kernel, noise)
        self.refresh()

    def refit(self) -> None:
        """Solve from scratch; the pool is as it was."""
        self.model.refit()

    def moments(self, rows: Rows) -> tuple[Floats, Floats]:
        """Means (rows x M) and variances (rows) of rows that need not be items."""
        return self.model.posterior.means(rows), self.model.posterior.variance(rows)

    def predict(self, rows: Rows) -> Indices:
        """The class with the largest mean, of rows that need not be items."""
        return best_class(self.means(rows))

    def predictive(self, rows: Rows, variance: VarianceName = "exact") -> tuple[Floats, Floats, Floats]:
        """The same, or with a bound of the variances, and the probabilities of the classes (rows x M)."""
        means, variances = self.means(rows), self.variance_by(variance)(rows)
        return means, variances, class_probabilities("gaussian", means, variances + self.noise, self.model.sharpness)

    @property
    def variances(self) -> tuple[VarianceName, ...]:
        """Which variances it has."""
        return variances_of(self.operator)

    def variance_by(self, name: VarianceName) -> Variances:
        """The variance of rows that need not be items, or an upper bound of it."""
        return variance_by(self.model.posterior, self._bounds, name)

    @property
    def prior(self) -> PriorVariance:
        """k(x, x) of any rows less the bias."""
        return PriorVariance(self.operator)

    def means(self, rows: Rows) -> Floats:
        """Of rows that need not be items, rows x M."""
        return self.model.posterior.means(rows)

    def residual(self) -> float:
        """How exact the solution is."""
        return self.model.posterior.residual()

    def refresh(self) -> None:
        """Mean and variance of all items from scratch."""
        self.pool.refresh(self.model.posterior)

    def catch_up(self) -> None:
        """Refresh after labels that were learnt without."""
        self.refresh()

    def rows(self, items: Indices) -> Rows:
        """These items as encoded rows."""
        return self.pool.parts.take(items).rows

    def covariance(self, rows: Indices, columns: Indices) -> Floats:
        """Posterior covariance of items, rows x columns."""
        return self.covariance_with(self.rows(columns))(self.rows(rows))

    def kernel(self, rows: Indices, columns: Indices) -> Floats:
        """Prior covariance of items, rows x columns."""
        return self.kernel_with(self.rows(columns))(self.rows(rows))

    def covariance_with(self, rows: Rows) -> KernelExpansion:
        """The functions x -> posterior covariance with each row of a rows."""
        return self.model.posterior.covariance(rows)

    def kernel_with(self, rows: Rows) -> KernelExpansion:
        """The functions x -> prior covariance with each row of a rows."""
        operator = self.model.operator
        return operator.difference(rows, np.zeros((len(operator), len(rows))))

    def state(self, items: Indices, reference: Indices) -> PoolState:
        """What query strategies look at, for some items; `reference` stands for the whole pool."""
        some = self.parts.take(items)
        labelled = np.array(self.labelled_items, dtype=np.int64)
        return PoolState(
            some.mean,
            some.variance,
            self.noise,
            items,
            self.covariance,
            self.kernel,
            reference,
            labelled,
            around=self.around(reference),
            own=lambda some: self.prior(self.rows(some)),
        )

    def around(self, reference: Indices) -> Items:
        """The posterior of items that stand for the pool."""
        some = self.parts.take(reference)
        return one_posterior(some.mean, some.variance, self.noise)

    def dump(self, *, warm: bool) -> dict[str, NDArray[Any]]:  # noqa: ARG002
        """Plain arrays of what rows, labels and hyperparameters do not tell: how sharp probabilities are."""
        return {} if self.model.sharpness is None else {"sharpness": np.array(self.model.sharpness)}

    def _drift(self, item: int) -> float:
        """How far mean and variance of an item are from what the model says of it, relative to their size.

        Measured at the item whose label was taken back, where the change is largest.
        """
        some = self.pool.parts.take(np.array([item]))
        mean, variance = self.moments(some.rows)
        off = np.abs(some.mean - mean).max(initial=0.0) / (1.0 + np.abs(mean).max(initial=0.0))
        return float(max(off, np.abs(some.variance - variance)[0] / max(float(variance[0]), self.noise)))

    def _refresh_if_balanced(self) -> None:
        """With `balance` each label changes the noise of all."""
        if self.model.balance:
            self.refresh()
