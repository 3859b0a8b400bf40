"""The softmax likelihood over a pool: class functions, the moments of all items, and the labels of some of them."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from core._types import Arrays, Floats, Indices, no_rows
from core.classes.tree import ClassTree
from core.drafts import Drafted, all_or_nothing
from core.factory import make_regression, untuned
from core.kernels import Kernel, LinearKernel
from core.linalg import (
    AtBound,
    DenseOperator,
    HistogramOperator,
    LinearOperator,
    Operator,
    Predictor,
    StoredOperator,
    SumOperator,
)
from core.models.base import ModelName, MomentPredictions
from core.models.gaussian import GAP_ITEMS, GaussianPool
from core.models.look_ahead import one_posterior
from core.models.parameters import Parameters
from core.models.softmax_state import SoftmaxState
from core.posterior import LabelRegression, LocalParts, Part, Parts, PoolPosterior
from core.posterior.base import Variances
from core.posterior.parts import kept
from core.probabilities import best_class, class_probabilities
from core.rows import Rows
from core.selection.likelihood import KERNEL_ROWS, MAX_VARIANCE, in_use, regression_kernel, softmax_variances
from core.settings import Settings
from core.softmax.classes import SoftmaxClasses, depth_prior
from core.softmax.laplace import centred, left_out
from core.softmax.prior import Prior
from core.tuning import DRAWN, find_sharpness, mean_gap
from core.variance import PriorVariance, VarianceName

TOLERANCE = 1e-10  # of a fit: the same model to many digits, whatever way labels came in


class SoftmaxPool(Drafted):
    """After each change, the means of all items are those of a fit on the labels there are, which starts from the last.

    Variances are those of label regression: the Laplace posterior (see core.softmax.laplace) in which every label
    tells as much as that of an item nothing is known of, w = 1 / C. So they do not depend on what labels say, and
    follow each of them exactly at the cost of one gather, whatever the size of the pool; the weights of a Laplace
    posterior would all change, and with them all variances.

    With labels at inner nodes the likelihood may have several maxima; a fit goes to the one near the last.

    `noises` are one for each depth of the tree, as `depth_prior` takes them.
    """

    kind: ModelName = "gp"
    solver = "softmax"
    rounds = 0
    is_outgrown = False  # there are no trees
    over_parts = None  # its pool is in one place
    mean: Floats  # of all items, m x C
    sharpness: float | None = None  # of class probabilities, where it was found

    def __init__(self, model: SoftmaxClasses, spread: GaussianPool, kernel: Kernel, noises: Sequence[float]) -> None:
        self.model = model  # labels and means
        self.spread = spread  # variances; its labels say nothing
        self.kernel_in_use = kernel
        self.noises_in_use = tuple(map(float, noises))
        self._update_means()

    @classmethod
    def begin(
        cls,
        settings: Settings,
        operator: Operator,
        parts: Parts,
        noises: Sequence[float],
        tree: ClassTree,
        parameters: Parameters | None = None,
    ) -> "SoftmaxPool":
        """A model without labels over a pool whose rows the operator can read."""
        none, max_memory = no_rows(), settings.max_memory
        kernel, empty = operator.kernel, operator.only(none)
        model = SoftmaxClasses(_many_products(empty), none, tree, noise=noises[0], max_memory=max_memory)
        model.tolerance = TOLERANCE
        model.keeps_matrix = isinstance(operator, HistogramOperator | SumOperator)
        model.reset(depth_prior(tree, model.operator.kernel, kernel.bias, noises))
        flat = empty.with_kernel(spread_kernel(model.prior))
        regression = LabelRegression(flat, none, 1, noise=_noise(tree), max_memory=max_memory)
        pool = PoolPosterior(regression.posterior, kept(parts, max_memory))
        found = cls(model, GaussianPool(regression, pool), kernel, noises)
        found.sharpness = None if parameters is None else parameters.sharpness
        return found

    @classmethod
    def load(cls, settings: Settings, operator: Operator, rows: Rows, tree: ClassTree, arrays: Arrays) -> "SoftmaxPool":
        """From what was dumped; `operator` and `rows` are those of all items. A warm dump has weights to start from."""
        noises = arrays["theta"][len(operator.kernel.theta) :].tolist()
        labelled = cls.begin(settings, operator, LocalParts.of(rows[:0]), noises, tree)
        labelled.sharpness = float(arrays["sharpness"]) if "sharpness" in arrays else None
        items, regression = arrays["learnt"], labelled.spread.model
        known = rows[items]
        for own in (labelled.model.operator, regression.operator):
            own.append(known)
        labelled.model.labels, labelled.model.counts = arrays["labels"], 1.0 / arrays["factors"]
        regression.labels, regression.noise_factors = np.zeros_like(items), arrays["factors"]
        parts = LocalParts(Part(rows, np.zeros((len(rows), 1)), arrays["variance"]))
        pool = PoolPosterior.of(kept(parts, settings.max_memory))
        labelled.spread = GaussianPool(regression, pool, items.tolist())
        labelled.refit(arrays.get("weights"))
        labelled.mean = arrays["mean"]
        return labelled

    def draft(self) -> Self:
        twin = super().draft()
        twin.model, twin.spread = self.model.draft(), self.spread.draft()
        return twin

    def __len__(self) -> int:
        return len(self.spread)

    @property
    def labelled_items(self) -> list[int]:
        """Items in the order their labels came."""
        return self.spread.labelled_items

    @property
    def numbers(self) -> Indices:
        """The node number of each of them."""
        return self.model.labels

    @property
    def noise_factors(self) -> Floats:
        """What multiplies the noise of each label, n."""
        return self.spread.noise_factors

    @property
    def labels(self) -> Indices:
        """The node number of each item, -1 without a label."""
        labels = np.full(len(self), -1, dtype=np.int64)
        labels[self.labelled_items] = self.numbers
        return labels

    @property
    def variance(self) -> Floats:
        return self.spread.variance

    @property
    def noise(self) -> float:
        return self.spread.noise

    @property
    def noises(self) -> Floats:
        return self.spread.noises

    @property
    def all_rows(self) -> Rows:
        return self.spread.all_rows

    @property
    def operator(self) -> Operator:
        return self.spread.operator

    @property
    def predictor(self) -> Predictor:
        return self.model.predictor

    @property
    def parts(self) -> LocalParts:
        return LocalParts(Part(self.all_rows, self.mean, self.variance))

    @property
    def parameters(self) -> Parameters:
        """What training found."""
        return Parameters(theta=tuple(self.hyperparameters.values()), sharpness=self.sharpness)

    @property
    def item_predictions(self) -> MomentPredictions:
        """What readers see of the items."""
        return MomentPredictions(self.parts, self.noise, "softmax", self.sharpness)

    @property
    def hyperparameters(self) -> dict[str, float]:
        """Kernel parameters and noises, by name."""
        kernel, noises = self.kernel_in_use, self.noises_in_use
        names = ["noise"] if len(noises) == 1 else [f"noise[{depth}]" for depth in range(1, len(noises) + 1)]
        return dict(zip((*kernel.names, *names), (*map(float, kernel.theta), *noises), strict=True))

    @all_or_nothing
    def append(self, rows: Rows) -> None:
        """More items, with levels for their values where there is room."""
        self.spread.append(rows)
        self.model.follow_levels(self.operator.levels)
        first = len(self.mean)
        self.mean = np.concatenate([self.mean, self.means(self.rows(np.arange(first, len(self))))])

    @all_or_nothing
    def learn(self, items: Indices, numbers: Indices, noise_factors: Floats, *, refresh: bool = True) -> None:
        """Items without a label get these node numbers; one that is doubted counts for less.

        Without `refresh` the pool is left behind until `catch_up`.
        """
        self.model.add(self.rows(items), numbers, counts=1.0 / noise_factors)
        self.spread.learn(items, np.zeros_like(numbers), noise_factors, refresh=refresh)
        if refresh:
            self._update_means()

    @all_or_nothing
    def forget(self, item: int) -> None:
        """An item loses its label."""
        self.model.remove(np.array([self.labelled_items.index(item)]))
        self.spread.forget(item)
        self._update_means()

    @all_or_nothing
    def relabel(self, item: int, number: int) -> None:
        """A labelled item gets another node number."""
        index = self.labelled_items.index(item)
        labels = self.numbers.copy()
        labels[index] = number
        self.model.relabel(labels)
        self._update_means()

    @all_or_nothing
    def renumber(self, numbers: Indices, tree: ClassTree) -> None:
        """Old nodes have these numbers in another tree."""
        self.model.relabel(numbers[self.numbers], numbers, tree)
        prior, own = self._prior(tree), self.model.prior.variances
        if not np.array_equal(prior.variances, own):
            self.model.reset(prior)
        self._respread()
        self._update_means()

    @all_or_nothing
    def tune(
        self,
        settings: Settings,
        on_step: Callable[[], object],
        drawn: Collection[int] = (),
    ) -> tuple[AtBound, ...] | None:
        """Find hyperparameters by cross-validated likelihood, and use them; what ended at a bound.

        None if there is too little to learn from. A search starts from kernel and noise of the settings, too. Where the
        likelihood was left open only variances are found so, in seconds, under the kernel that label regression finds
        best, and then the sharpness of probabilities by leave-one-out predictions; with tune="none" that alone.
        """
        certain = self.numbers[self.numbers < self.model.n_classes]
        if len(np.unique(certain)) < 2:
            return None
        if settings.likelihood == "auto":
            return self._tune_variances(settings, on_step, drawn)
        given = untuned(settings, self.model.operator)
        found = self.model.search(weights=settings.tune_weights, most=MAX_VARIANCE, settings=given, on_step=on_step)
        prior = found.prior
        depth = prior.tree.depth
        variances = [float(prior.variances[depth == d][0]) for d in range(1, int(depth.max()) + 1)]
        kernel = replace(prior.kernels[0], bias=prior.intercept / variances[0])
        self.reset(kernel, [1.0 / variance for variance in variances])
        return found.at_bounds

    def _tune_variances(
        self, settings: Settings, on_step: Callable[[], object], drawn: Collection[int]
    ) -> tuple[AtBound, ...]:
        at_bounds: tuple[AtBound, ...] = ()
        if settings.tune == "none":
            self.catch_up()
        else:
            at_bounds = self._search_variances(settings, on_step)
        free = np.flatnonzero(self.labels < 0)
        gap = mean_gap(self.mean[free[:GAP_ITEMS]]) if len(free) else 1.0
        by_others = left_out(self.model, self.model.posterior.laplace)
        weights = np.where(np.isin(self.labelled_items, list(drawn)), DRAWN, 1.0)
        self.sharpness = find_sharpness(by_others, self.numbers, gap, weights)
        return at_bounds

    def _search_variances(self, settings: Settings, on_step: Callable[[], object]) -> tuple[AtBound, ...]:
        rows = np.unique(np.linspace(0, len(self.numbers) - 1, KERNEL_ROWS).astype(np.int64))
        operator = self.operator.with_kernel(self.kernel_in_use).only(rows)
        regression = make_regression(settings, operator, self.numbers[rows], self.model.n_classes)
        regression.noise_factors = self.noise_factors[rows]
        at_bounds = regression_kernel(settings, regression, untuned(settings, operator), on_step)
        found = softmax_variances(regression, on_step, self.model.prior)
        kernel, noise = in_use(found.prior)
        self.reset(kernel, [noise])
        return at_bounds + found.at_bounds

    @all_or_nothing
    def reset(self, kernel: Kernel, noises: Sequence[float]) -> None:
        """Other hyperparameters for the same labels."""
        self.kernel_in_use, self.noises_in_use = kernel, tuple(map(float, noises))
        self.model.reset(depth_prior(self.model.tree, replace(kernel, bias=0.0), kernel.bias, noises))
        self._respread()
        self._update_means()

    @all_or_nothing
    def refit(self, weights: Floats | None = None) -> None:
        """Solve from scratch, or from these weights; the pool is as it was."""
        self.model.operator = self.model.operator.only(np.arange(len(self.labelled_items)))  # nothing it kept of K
        self.model.refit(weights)
        self.spread.refit()

    @all_or_nothing
    def refresh(self) -> None:
        """Mean and variance of all items from scratch."""
        self.spread.refresh()
        self._update_means()

    def _update_means(self) -> None:
        """The means of all items, by one gather."""
        self.mean = self.means(self.all_rows)

    def means(self, rows: Rows) -> Floats:
        """Of rows that need not be items."""
        return centred(self.model.latents(rows))

    def moments(self, rows: Rows) -> tuple[Floats, Floats]:
        """Means and variances of rows that need not be items."""
        return self.means(rows), self.spread.moments(rows)[1]

    def predict(self, rows: Rows) -> Indices:
        """The class with the largest mean, of rows that need not be items."""
        return best_class(self.means(rows))

    @property
    def variances(self) -> tuple[VarianceName, ...]:
        """Which variances it has."""
        return self.spread.variances

    def variance_by(self, name: VarianceName) -> Variances:
        """The variance of rows that need not be items, or an upper bound of it."""
        return self.spread.variance_by(name)

    @property
    def prior(self) -> PriorVariance:
        """k(x, x) of any rows less the bias."""
        return self.spread.prior

    def predictive(self, rows: Rows, variance: VarianceName = "exact") -> tuple[Floats, Floats, Floats]:
        """The same, or with a bound of the variances, and the probabilities of the classes (rows x C)."""
        means, variances = self.means(rows), self.variance_by(variance)(rows)
        return means, variances, class_probabilities("softmax", means, variances, self.sharpness)

    def residual(self) -> float:
        """The relative gradient at which the fit ended, or how exact the variances are, if that is worse."""
        return max(self.model.solution.gradient, self.spread.residual())

    def catch_up(self) -> None:
        """Refresh after labels that were learnt without."""
        self.refresh()

    def rows(self, items: Indices) -> Rows:
        """These items as encoded rows."""
        return self.spread.rows(items)

    def covariance(self, rows: Indices, columns: Indices) -> Floats:
        """Posterior covariance of items, rows x columns."""
        return self.spread.covariance(rows, columns)

    def kernel(self, rows: Indices, columns: Indices) -> Floats:
        """Prior covariance of items, rows x columns."""
        return self.spread.kernel(rows, columns)

    def state(self, items: Indices, reference: Indices) -> SoftmaxState:
        """What query strategies look at, for some items; `reference` stands for the whole pool."""
        return SoftmaxState(
            self.mean[items],
            self.variance[items],
            self.noise,
            items,
            self.covariance,
            self.kernel,
            reference,
            np.array(self.labelled_items, dtype=np.int64),
            (self._latent_covariance, self._latent_variance),
            around=one_posterior(self.mean[reference], self.variance[reference], self.noise),
            own=lambda some: self.prior(self.rows(some)),
        )

    def _latent_covariance(self, rows: Indices, columns: Indices) -> Floats:
        return self.model.posterior.laplace.covariance(self.rows(columns))(self.rows(rows))

    def _latent_variance(self, items: Indices) -> Floats:
        return self.model.posterior.laplace.variance(self.rows(items))

    def dump(self, *, warm: bool) -> dict[str, NDArray[Any]]:
        """Plain arrays of what rows, labels and hyperparameters do not tell; `warm` with what a fit may start from."""
        found = {} if self.sharpness is None else {"sharpness": np.array(self.sharpness)}
        return found | ({"weights": self.model.weights} if warm else {})

    def _prior(self, tree: ClassTree) -> Prior:
        return depth_prior(tree, self.model.prior.kernels[0], self.kernel_in_use.bias, self.noises_in_use)

    def _respread(self) -> None:
        """Variances follow the number of classes, the tree and the hyperparameters."""
        kernel, noise = spread_kernel(self.model.prior), _noise(self.model.tree)
        if noise != self.spread.noise or not np.array_equal(kernel.theta, self.spread.operator.kernel.theta):
            self.spread.reset(kernel, noise)


def spread_kernel(prior: Prior) -> Kernel:
    """The mean prior covariance of a class function, intercept included."""
    variance = prior.tree.to_classes(prior.variances[None]).mean() if len(prior.variances) else 1.0
    return replace(prior.kernels[0].scaled(float(variance)), bias=prior.intercept)


def _noise(tree: ClassTree) -> float:
    """1 / w of a label that all classes are as probable for."""
    return float(max(tree.n_classes, 1))


def _many_products(operator: Operator) -> Operator:
    """An operator of the same rows that is made for many products with the same matrix."""
    if not isinstance(operator, DenseOperator):
        return operator.only(np.arange(len(operator)))  # rows of its own
    if isinstance(operator.kernel, LinearKernel):
        return LinearOperator(operator.x, operator.kernel)
    return StoredOperator(operator.x, operator.kernel)
