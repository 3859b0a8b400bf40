"""Cross-validated likelihood and its gradient by all hyperparameters (Seeger2008, sections 4 and 5.2)."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import softmax

from core._types import Floats, Indices
from core.linalg import Operator, Units, keeping_matrices
from core.softmax.curvature import Curvature
from core.softmax.joint import JointKernel, MatrixKernel
from core.softmax.newton import Fit, fit
from core.softmax.prior import Prior, PriorGradient
from core.softmax.search import Criterion
from core.softmax.targets import Targets

FOLDS = 5
TOLERANCE = 1e-4  # of the fits; the system behind the gradient has ten times that
MAX_STEPS = 2000


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
        matrix: Floats | None = None,
    ) -> None:
        certain = np.flatnonzero(labels < prior.tree.n_classes)
        some = operator if len(certain) == len(labels) else operator.only(certain)
        self._operator = keeping_matrices(some) if matrix is None else some
        self._matrix = None if matrix is None else matrix[np.ix_(certain, certain)]
        self._targets = Targets.of(labels[certain], prior.tree)
        fold = _folds(labels[certain], min(folds, len(certain)), np.random.default_rng(seed))
        held_out = fold[:, None] == np.arange(fold.max(initial=0) + 1)
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

    def _fit(self, prior: Prior) -> tuple[JointKernel, Fit]:
        joint = JointKernel(self._operator, prior) if self._matrix is None else MatrixKernel(self._matrix, prior)
        rough: dict[str, Any] = {"newton": False, "tolerance": TOLERANCE, "max_steps": MAX_STEPS}
        found = fit(joint, self._targets, self._trained_on, self._weights, **rough)
        if found.converged:
            self._weights = found.weights
        return joint, found


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


def _folds(labels: Indices, folds: int, rng: np.random.Generator) -> Indices:
    """A fold for each row, at random, with classes spread evenly."""
    shuffled = rng.permutation(len(labels))
    by_class = shuffled[np.argsort(labels[shuffled], kind="stable")]
    out = np.empty(len(labels), dtype=np.int64)
    out[by_class] = np.arange(len(labels)) % max(folds, 1)
    return out
