"""Searches for the hyperparameters of a prior: L-BFGS on the logarithms of those that are free."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np
from scipy.optimize import minimize

from core._types import Floats, Indices
from core.kernels import Kernel
from core.linalg import AtBound
from core.softmax.prior import Prior, PriorGradient

BOUNDS = (1e-4, 1e6)  # of variances, in units of the data (see core.linalg.Units)
AT = 1e-3  # of a bound, in logarithms: where a search stopped
Tie = Literal["shared", "depth", "branch", "node"]


class Criterion(Protocol):
    """A function of a prior, over fixed rows and labels."""

    def __len__(self) -> int:
        """How many rows there are."""
        ...

    def __call__(self, prior: Prior, *, gradient: bool = True) -> tuple[float, PriorGradient | None]:
        """The criterion for this prior, with its gradient if asked for."""
        ...


@dataclass(frozen=True, eq=False)
class Search:
    """The free hyperparameters of a prior, and which of its variances are tied."""

    ties: Indices  # P, number of the group of each node's variance
    theta: tuple[str, ...] = ()  # free parameters of the kernels
    together: bool = True  # one value for all kernels
    intercept: bool = False
    noise: bool = False
    most: float = BOUNDS[1]  # that a node's variance may be

    @classmethod
    def of(cls, prior: Prior, tie: Tie = "shared", *, theta: tuple[str, ...] = (), intercept: bool = False) -> "Search":
        """Variances are found for all nodes at once, for each depth, for each branch at the root, or for each node."""
        tree = prior.tree
        groups = {
            "shared": np.zeros(len(tree)),
            "depth": tree.depth,
            "branch": tree.branch,
            "node": np.arange(len(tree)),
        }
        return cls(np.unique(groups[tie], return_inverse=True)[1], theta, len(prior.kernels) == 1, intercept)

    def logs(self, prior: Prior) -> Floats:
        """The free numbers as a search sees them: inside their bounds."""
        bounds = self.bounds(prior)
        return np.asarray(np.clip(self.free(prior), bounds[:, 0], bounds[:, 1]))

    def free(self, prior: Prior) -> Floats:
        """Logarithms of the free numbers."""
        sizes = np.bincount(self.ties)
        parts = [np.exp(np.bincount(self.ties, np.log(prior.variances)) / sizes)]
        parts += [kernel.theta[self._places(kernel)] for kernel in self._kernels(prior)]
        parts += [np.array([prior.intercept])] * self.intercept + [np.array([prior.noise])] * self.noise
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.concatenate(parts)))

    def at(self, prior: Prior, logs: Floats) -> Prior:
        """The prior with these free numbers."""
        values, cut = np.exp(logs), int(self.ties.max()) + 1
        kernels, width = [], len(self.theta)
        for number, kernel in enumerate(prior.kernels):
            theta, first = kernel.theta.copy(), cut + (0 if self.together else number * width)
            theta[self._places(kernel)] = values[first : first + width]
            kernels.append(kernel.with_theta(theta) if width else kernel)
        rest = iter(values[cut + width * len(self._kernels(prior)) :])
        return replace(
            prior,
            variances=values[self.ties],
            kernels=tuple(kernels),
            intercept=float(next(rest)) if self.intercept else prior.intercept,
            noise=float(next(rest)) if self.noise else prior.noise,
        )

    def bounds(self, prior: Prior) -> Floats:
        """Of the logarithms."""
        kernels = [kernel.bounds[self._places(kernel)] for kernel in self._kernels(prior)]
        free = int(self.ties.max()) + 1
        bounds = np.vstack([[(BOUNDS[0], self.most)] * free, *kernels, *[[BOUNDS]] * (self.intercept + self.noise)])
        return np.asarray(np.log(bounds))

    def names(self, prior: Prior) -> list[str]:
        """Of the free numbers."""
        groups, own = int(self.ties.max()) + 1, self._kernels(prior)
        variances = ["variance"] if groups == 1 else [f"variance[{group}]" for group in range(groups)]
        return [*variances, *self.theta * len(own), *["intercept"] * self.intercept, *["noise"] * self.noise]

    def at_bounds(self, prior: Prior) -> list[tuple[str, float]]:
        """What is at a bound, with the bound; weights and the intercept may be as small as they like."""
        small = ("weight", "intercept", "noise")
        return [
            (name, float(np.exp(bound)))
            for name, log, bounds in zip(self.names(prior), self.logs(prior), self.bounds(prior), strict=True)
            for side, bound in enumerate(bounds)
            if abs(log - bound) < AT and (side or not name.startswith(small))
        ]

    def gradient(self, prior: Prior, by: PriorGradient) -> Floats:
        """By the free logarithms."""
        by_tie = np.bincount(self.ties, by.variances * prior.variances)
        parts: list[Floats] = [np.asarray(by_tie, dtype=np.float64)]
        thetas: list[Floats] = [
            (theta * kernel.theta)[self._places(kernel)] for kernel, theta in zip(prior.kernels, by.thetas, strict=True)
        ]
        parts += [np.asarray(np.sum(thetas, axis=0))] if self.together else thetas
        parts += [np.array([by.intercept * prior.intercept])] * self.intercept
        parts += [np.array([by.noise * prior.noise])] * self.noise
        return np.concatenate(parts)

    def _kernels(self, prior: Prior) -> tuple[Kernel, ...]:
        return prior.kernels[:1] if self.together else prior.kernels

    def _places(self, kernel: Kernel) -> list[int]:
        return [kernel.names.index(name) for name in self.theta]


@dataclass(frozen=True, eq=False)
class TunedPrior:
    """Result of a search."""

    prior: Prior
    value: float  # mean -log probability of a row's label, cross-validated
    evaluations: int
    criterion: str = "cv"
    at_bounds: tuple[AtBound, ...] = ()  # hyperparameters whose optimum may be outside of the bounds


def tune_prior(
    criterion: Criterion,
    start: Prior,
    search: Search,
    *,
    max_rounds: int = 30,
    first_step: float = 1.0,
    gain: float = 2e-5,
    on_step: Callable[[], object] = lambda: None,
) -> TunedPrior:
    """L-BFGS on the logarithms, from where the prior is, until a round gains less than that part of the criterion.

    `on_step` is called before each evaluation.
    """
    best: TunedPrior | None = None
    count, scale = 0, 0.0

    def evaluate(logs: Floats) -> tuple[float, Floats]:
        nonlocal best, count, scale
        on_step()
        count += 1
        prior = search.at(start, logs)
        value, by = criterion(prior)
        assert by is not None
        if best is None or value < best.value:
            best = TunedPrior(prior, value, count)
        slope = search.gradient(prior, by)
        # In a box the first step of L-BFGS-B is the gradient itself: of length 1 here, a factor of e in all.
        scale = scale or first_step / max(float(np.linalg.norm(slope)), 1.0 / len(criterion))
        return value * scale, slope * scale

    options = {"maxiter": max_rounds, "ftol": gain, "gtol": 1e-3}
    bounds = search.bounds(start)
    minimize(evaluate, search.logs(start), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    assert best is not None
    return replace(best, evaluations=count)
