"""The softmax model with the face of label regression, for estimators that can have either."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from core._types import Floats, Indices
from core.kernels import Kernel
from core.linalg import Operator, Predictor
from core.posterior import Posterior
from core.softmax.cross_validation import BOUNDS, CrossValidation, Search, Tie, TunedPrior, tune_prior
from core.softmax.model import SoftmaxRegression
from core.softmax.prior import Prior
from core.softmax.tree import ClassTree
from core.softmax.uncertainty import centred, laplace_posterior

SAMPLE_ROWS = 4000  # hyperparameters of more rows are found on so many of them


class SoftmaxClasses(SoftmaxRegression):
    """One kernel for all nodes, as it is set for regression: in units in which the noise of a label is 1.

    So functions have the variance of the kernel over the noise; its constant term is the variance of the intercepts.
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
    ) -> None:
        self._max_memory = max_memory
        super().__init__(operator, labels, scaled_prior(tree, operator.kernel, noise), counts=counts)

    def tune(self, *, weights: bool = False) -> TunedPrior:
        """Find hyperparameters by cross-validation, from where they are, and use them."""
        found = self.search(weights=weights)
        self.reset(found.prior)
        return found

    def search(
        self, *, weights: bool = False, most: float = BOUNDS[1], on_step: Callable[[], object] = lambda: None
    ) -> TunedPrior:
        """The best hyperparameters by cross-validation, from where they are.

        These are the variance (in a tree one for each depth, each `most` at most), that of the intercepts, the
        parameter of a transform or of the RBF kernel, and weights if asked for. `on_step` is called before each
        evaluation.
        """
        kernel, prior = self.prior.kernels[0], self.prior
        theta = ["eta"] if getattr(kernel, "transform", None) is not None else []
        theta += [name for name in kernel.names if name == "gamma" or (weights and name.startswith("weight"))]
        rows = np.unique(np.linspace(0, len(self.labels) - 1, SAMPLE_ROWS).astype(np.int64))
        sampled = self.operator if len(rows) == len(self.labels) else self.operator.only(rows)
        criterion = CrossValidation(sampled, self.labels[rows], prior, counts=self.counts[rows])
        tie: Tie = "shared" if prior.tree.is_flat else "depth"
        search = Search.of(prior, tie, theta=tuple(theta), intercept=prior.intercept > 0.0)
        return tune_prior(criterion, prior, replace(search, most=most), on_step=on_step)

    @property
    def parameters(self) -> dict[str, float]:
        """Kernel parameters, variances by depth and of the intercepts, by name."""
        kernel, depth = self.prior.kernels[0], self.tree.depth
        values = {name: float(value) for name, value in zip(kernel.names, kernel.theta, strict=True) if name != "bias"}
        for d in np.unique(depth):
            values["variance" if self.tree.is_flat else f"variance[{d}]"] = float(self.prior.variances[depth == d][0])
        return {**values, "intercept": self.prior.intercept}

    @cached_property
    def posterior(self) -> "SoftmaxPosterior":
        """Of the functions, as it is now."""
        return SoftmaxPosterior(self)


@dataclass(frozen=True, eq=False)
class SoftmaxPosterior:
    """Means and variances of the class functions (see core.softmax.uncertainty)."""

    model: SoftmaxClasses

    def means(self, query: Any, *, quantised: bool = False) -> Floats:
        return centred(self.model.latents(query, quantised=quantised))

    def variance(self, query: Any) -> Floats:
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


def scaled_prior(tree: ClassTree, kernel: Kernel, noise: float) -> Prior:
    """The kernel over the noise, its constant term as intercepts."""
    return Prior.shared(tree, replace(kernel, bias=0.0), 1.0 / noise, kernel.bias / noise)
