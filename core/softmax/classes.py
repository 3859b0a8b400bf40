"""The softmax model with the interface of label regression, for estimators that may use either."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from core._types import Floats, Indices
from core.classes.tree import ClassTree
from core.kernels import Kernel
from core.linalg import AtBound, Operator, Predictor, Units
from core.posterior import Posterior
from core.rows import Rows
from core.softmax.cross_validation import CrossValidation, InUnits
from core.softmax.laplace import centred, laplace_posterior
from core.softmax.model import SoftmaxRegression
from core.softmax.prior import Prior
from core.softmax.search import BOUNDS, Search, Tie, TunedPrior, tune_prior

SAMPLE_ROWS = 4000  # hyperparameters of more rows are found on so many of them
FEW_ROWS = 1000  # of a first search, which chooses between two starts


class SoftmaxClasses(SoftmaxRegression):
    """One kernel for all nodes, as it is set for regression: in units in which the noise of a label is 1.

    So functions have the variance of the kernel over the noise; its constant term is the variance of the intercepts.
    `tie` says which variances a search finds together.
    """

    name = "softmax"

    def __init__(
        self,
        operator: Operator,
        labels: Indices,
        tree: ClassTree,
        *,
        noise: float,
        counts: Floats | None = None,
        max_memory: float = np.inf,
        tie: Tie = "depth",
    ) -> None:
        self._max_memory, self._tie = max_memory, tie
        kernel = operator.kernel
        prior = depth_prior(tree, replace(kernel, bias=0.0), kernel.bias, [noise])
        super().__init__(operator, labels, prior, counts=counts)

    def tune(self, *, weights: bool = False, settings: tuple[Kernel, float] | None = None) -> TunedPrior:
        """Find hyperparameters by cross-validation, and use them."""
        found = self.search(weights=weights, settings=settings)
        self.reset(found.prior)
        return found

    def search(
        self,
        *,
        weights: bool = False,
        most: float = BOUNDS[1],
        settings: tuple[Kernel, float] | None = None,
        on_step: Callable[[], object] = lambda: None,
    ) -> TunedPrior:
        """The best hyperparameters by cross-validation, from where they are and from the settings.

        These are the variances (as they are tied, each `most` at most, in units of the data), that of the intercepts,
        the parameter of a transform or of the RBF kernel, and weights if asked for. `settings` are kernel and noise as
        they are set; without them the model has them still. `on_step` is called before each evaluation.
        """
        prior, kernel = self.prior, self.prior.kernels[0]
        theta = ["eta"] if getattr(kernel, "transform", None) is not None else []
        theta += [name for name in kernel.names if name == "gamma" or (weights and name.startswith("weight"))]
        units = Units.of([self.operator], None if settings is None else settings[0])
        begins = self._starts(units, settings)
        search = replace(Search.of(prior, self._tie, theta=tuple(theta), intercept=prior.intercept > 0.0), most=most)
        spent = 0
        if len(begins) > 1 and len(self.labels) > FEW_ROWS:
            few = self._criterion(units, FEW_ROWS)
            rough = [tune_prior(few, begin, search, on_step=on_step) for begin in begins]
            begins, spent = [min(rough, key=_value).prior], sum(one.evaluations for one in rough)
        criterion = self._criterion(units, SAMPLE_ROWS)
        ends = [tune_prior(criterion, begin, search, on_step=on_step) for begin in begins]
        found = min(ends, key=_value)
        best = _true(units, found.prior)
        values = dict(zip(search.names(best), np.exp(search.free(best)).tolist(), strict=True))
        at_bounds = tuple(
            AtBound(name, values[name], bound, bound > 1.0) for name, bound in search.at_bounds(found.prior)
        )
        spent += sum(end.evaluations for end in ends)
        return replace(found, prior=best, evaluations=spent, at_bounds=at_bounds)

    def _criterion(self, units: Units, most: int) -> InUnits:
        """By so many rows at most."""
        rows = np.unique(np.linspace(0, len(self.labels) - 1, most).astype(np.int64))
        sampled = self.operator if len(rows) == len(self.labels) else self.operator.only(rows)
        return InUnits(CrossValidation(sampled, self.labels[rows], self.prior, counts=self.counts[rows]), units)

    def _starts(self, units: Units, settings: tuple[Kernel, float] | None) -> list[Prior]:
        """Priors in units: of what an earlier search found, and of the settings, whose numbers are meant so."""
        now = self.prior
        if settings is None:
            return [replace(now, kernels=(units.start(now.kernels[0]),))]
        kernel, noise = replace(settings[0], bias=0.0), settings[1]
        given = depth_prior(self.tree, kernel, settings[0].bias, [noise])
        origin = replace(given, kernels=(units.start(kernel),))
        if np.array_equal(_numbers(now), _numbers(given)):
            return [origin]
        bare, share = units.plain(now.kernels[0], 1.0)
        last = replace(now, kernels=(bare,), variances=now.variances / share)
        return [last] if _are_near(last, origin) else [last, origin]

    @property
    def parameters(self) -> dict[str, float]:
        """Kernel parameters, variances (by depth, or of each node) and that of the intercepts, by name."""
        kernel, variances = self.prior.kernels[0], self.prior.variances
        values = {name: float(value) for name, value in zip(kernel.names, kernel.theta, strict=True) if name != "bias"}
        of = self.tree.depth if self._tie == "depth" else np.arange(len(self.tree))
        groups, first = np.unique(of, return_index=True)
        names = [f"variance[{group}]" for group in groups] if len(groups) > 1 else ["variance"]
        values |= zip(names, variances[first].tolist(), strict=True)
        return {**values, "intercept": self.prior.intercept}

    @cached_property
    def posterior(self) -> "SoftmaxPosterior":
        """Of the functions, as it is now."""
        return SoftmaxPosterior(self)


@dataclass(frozen=True, eq=False)
class SoftmaxPosterior:
    """Means and variances of the class functions (see core.softmax.laplace)."""

    model: SoftmaxClasses

    def means(self, query: Rows, *, quantised: bool = False) -> Floats:
        return centred(self.model.latents(query, quantised=quantised))

    def variance(self, query: Rows) -> Floats:
        return self.laplace.variance(query)

    @property
    def predictor(self) -> Predictor:
        return self.model.predictor

    @property
    def noise(self) -> Floats:
        return self.laplace.noise

    @property
    def jitter(self) -> float:
        return self.laplace.jitter

    def residual(self) -> float:
        """The relative gradient at which the fit ended."""
        return self.model.solution.gradient

    @cached_property
    def laplace(self) -> Posterior:
        return laplace_posterior(self.model, self.model._max_memory)


def _true(units: Units, prior: Prior) -> Prior:
    """What a prior in units is for the rows: weights stay as they are, the variances take the units."""
    kernel, true = prior.kernels[0], units.true(prior.kernels[0])
    size = units.size(true)
    return replace(prior, kernels=(replace(true, weights=kernel.weights),), variances=prior.variances / size)


def _numbers(prior: Prior) -> Floats:
    return np.concatenate([prior.variances, prior.kernels[0].theta, [prior.intercept]])


def _are_near(a: Prior, b: Prior) -> bool:
    """Whether a search from one passes the other: all numbers within a factor of two."""
    one, other = _numbers(a), _numbers(b)
    return bool(np.all(one <= 2.0 * other) and np.all(other <= 2.0 * one))


def _value(found: TunedPrior) -> float:
    return found.value


def depth_prior(tree: ClassTree, kernel: Kernel, bias: float, noises: Sequence[float]) -> Prior:
    """A kernel without constant term over the noise of each depth; the constant term as intercepts.

    Nodes deeper than these have the last. A single noise is that of whole classes: the depths share its variance.

    >>> from core.kernels import LinearKernel
    >>> kernel = LinearKernel(np.ones(1), np.zeros(1, dtype=int), bias=0.0)
    >>> depth_prior(ClassTree(np.array([3, 3, -1, -1])), kernel, 0.0, [0.1]).variances.tolist()
    [5.0, 5.0, 5.0, 5.0]
    """
    deepest = int(tree.depth.max(initial=1))
    of_depth = np.full(deepest, deepest * noises[0]) if len(noises) == 1 else np.array(noises)
    variances = 1.0 / of_depth[np.minimum(tree.depth, len(of_depth)) - 1]
    return Prior(tree, variances, (kernel,), np.zeros(len(tree), dtype=np.int64), bias / noises[0])
