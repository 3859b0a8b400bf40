"""Cross-validated likelihood, its gradient by all hyperparameters, and the search (Seeger2008, sections 4 and 5.2)."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import softmax

from core._types import Floats, Indices
from core.kernels import Kernel
from core.linalg import AtBound, Operator, Units
from core.softmax.curvature import Curvature
from core.softmax.joint import JointKernel, MatrixKernel
from core.softmax.newton import Fit, fit
from core.softmax.prior import Prior, PriorGradient
from core.softmax.targets import Targets

FOLDS = 5
TOLERANCE = 1e-4  # of the fits; the system behind the gradient has ten times that
MAX_STEPS = 2000
BOUNDS = (1e-4, 1e6)  # of variances, in units of the data (see core.linalg.Units)
AT = 1e-3  # of a bound, in logarithms: where a search stopped
Tie = Literal["shared", "depth", "branch", "node"]


class CrossValidation:
    """Mean of -log P(label) over rows, each predicted by a model of the other folds; rows count as they do in fits.

    The folds are fitted side by side on the one operator, and a row has weight 0 where it is held out: so one
    product serves them all and gives the predictions, too. Rows that are labelled with inner nodes take no part. Each
    evaluation starts from the weights of the last.

    With the `matrix` of the rows' kernel, which then stays, products are those of the matrix.
    """

    def __init__(
        self,
        operator: Operator,
        labels: Indices,
        prior: Prior,
        *,
        counts: Floats | None = None,
        folds: int = FOLDS,
        seed: int = 0,
        matrix: NDArray[Any] | None = None,
    ) -> None:
        certain = np.flatnonzero(labels < prior.tree.n_classes)
        self._operator = operator if len(certain) == len(labels) else operator.only(certain)
        self._matrix = None if matrix is None else matrix[np.ix_(certain, certain)]
        self._targets = Targets.of(labels[certain], prior.tree)
        self.fold = _folds(labels[certain], min(folds, len(certain)), np.random.default_rng(seed))  # of each row
        held_out = self.fold[:, None] == np.arange(self.fold.max(initial=0) + 1)
        self._counts = np.ones(len(certain)) if counts is None else counts[certain]
        self._held_out, self._trained_on = (self._counts[:, None] * part for part in (held_out, ~held_out))
        self._weights: Floats | None = None

    def __len__(self) -> int:
        return len(self._held_out)

    def __call__(self, prior: Prior, *, gradient: bool = True) -> tuple[float, PriorGradient | None]:
        """The criterion for this prior, with its gradient if asked for."""
        joint, found = self._fit(prior)
        total = self._counts.sum()
        value = float((self._targets.losses(found.latents) * self._held_out).sum() / total)
        if not gradient:
            return value, None
        # d = sum over folds of a^T dK f with f = (I + W K)^-1 (pi - y), pi - y of the held-out rows, W of the others.
        pi = softmax(found.latents, axis=2)
        errors = (pi - self._targets.expected(pi)) * self._held_out[:, :, None] / total
        size = np.sqrt(np.einsum("nqc,nqc->q", errors, errors))
        f, _ = Curvature(joint, pi, self._trained_on).solve(errors, 10.0 * TOLERANCE * size)
        return value, joint.gradient(found.weights, f)

    def losses(self, prior: Prior) -> Floats:
        """-log P(label) of each row that takes part, by a model of the other folds."""
        found = self._fit(prior)[1]
        return np.asarray(self._targets.losses(found.latents)[np.arange(len(self)), self.fold])

    def _fit(self, prior: Prior) -> tuple[JointKernel, Fit]:
        joint = JointKernel(self._operator, prior) if self._matrix is None else MatrixKernel(self._matrix, prior)
        rough: dict[str, Any] = {"newton": False, "tolerance": TOLERANCE, "max_steps": MAX_STEPS}
        found = fit(joint, self._targets, self._trained_on, self._weights, **rough)
        if found.converged:
            self._weights = found.weights
        return joint, found


class Criterion(Protocol):
    """A function of a prior, over fixed rows and labels."""

    def __len__(self) -> int:
        """How many rows there are."""
        ...

    def __call__(self, prior: Prior, *, gradient: bool = True) -> tuple[float, PriorGradient | None]:
        """The criterion for this prior, with its gradient if asked for."""
        ...


@dataclass(frozen=True, eq=False)
class InUnits:
    """A criterion for priors whose kernels are in units of the data."""

    criterion: Criterion
    units: Units

    def __len__(self) -> int:
        return len(self.criterion)

    def __call__(self, prior: Prior, *, gradient: bool = True) -> tuple[float, PriorGradient | None]:
        true = replace(prior, kernels=tuple(map(self.units.true, prior.kernels)))
        value, by = self.criterion(true, gradient=gradient)
        if by is None:
            return value, None
        thetas = map(self.units.pull_back, prior.kernels, by.thetas)
        return value, replace(by, thetas=tuple(thetas))


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


def _folds(labels: Indices, folds: int, rng: np.random.Generator) -> Indices:
    """A fold for each row, at random, with classes spread evenly."""
    shuffled = rng.permutation(len(labels))
    by_class = shuffled[np.argsort(labels[shuffled], kind="stable")]
    out = np.empty(len(labels), dtype=np.int64)
    out[by_class] = np.arange(len(labels)) % max(folds, 1)
    return out
