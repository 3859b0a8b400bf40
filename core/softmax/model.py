"""Softmax likelihood: class numbers in, calibrated probabilities of all classes out (Seeger2008, sections 2 and 3)."""

import warnings
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.special import softmax

from core._types import Floats, Indices
from core.classes.tree import ClassTree
from core.drafts import Drafted, all_or_nothing
from core.linalg import Operator
from core.rows import Rows
from core.softmax.joint import Columns, JointKernel, Latents
from core.softmax.newton import TOLERANCE, Fit, downhill, fit
from core.softmax.prior import Prior
from core.softmax.subspace import Subspace
from core.softmax.targets import Targets

FEW = 32  # rows whose columns of K are computed when they change
STORED_ROWS = 4000  # whose K is kept where it may be, at most


class SoftmaxRegression(Drafted):
    """One function a class (a sum of functions along its path in a tree) over the rows of an operator.

    A label is a class number, or the number of an inner node: "one of these". The likelihood of a row is raised to the
    power of its count: less than 1 where the annotator may be wrong. Every change solves again from the last weights,
    and leaves what a fresh fit would give.
    """

    solution: Fit
    _joint: JointKernel
    _past: Subspace | None = None
    _matrix: Floats | None = None

    def __init__(
        self,
        operator: Operator,
        labels: Indices,
        prior: Prior,
        *,
        counts: Floats | None = None,
        tolerance: float = TOLERANCE,
        keeps_matrix: bool = False,
    ) -> None:
        self.operator = _under(operator, prior)
        self.labels = labels  # n, node numbers
        self.counts = np.ones(len(labels)) if counts is None else counts  # n, weight of each row's likelihood
        self.prior = prior
        self.tolerance = tolerance
        self.keeps_matrix = keeps_matrix  # for a kernel whose products cost more than those of K, from fit to fit
        self._fit(None)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_past": None, "_matrix": None}

    def draft(self) -> Self:
        twin = super().draft()
        twin.operator = self.operator.draft()
        twin._past = None if self._past is None else self._past.draft()
        return twin

    @property
    def tree(self) -> ClassTree:
        return self.prior.tree

    @property
    def n_classes(self) -> int:
        """C."""
        return self.tree.n_classes

    @property
    def weights(self) -> Floats:
        """n x C."""
        return np.asarray(self.solution.weights[:, 0])

    @property
    def _latents(self) -> Floats:
        return np.asarray(self.solution.latents[:, 0])

    @all_or_nothing
    def add(
        self,
        query: Rows,
        labels: Indices,
        renumber: Indices | None = None,
        tree: ClassTree | None = None,
        counts: Floats | None = None,
    ) -> None:
        """Learn more rows; where the tree grows, `renumber` gives the old nodes their new numbers."""
        self.operator.check(query)
        (weights, latents), n = self._in_tree(renumber, tree), len(self.labels)
        self.labels = np.concatenate([self.labels, labels])
        self.counts = np.concatenate([self.counts, np.ones(len(labels)) if counts is None else counts])
        self.operator.append(query)
        new = np.arange(n, len(self.labels))
        weights = np.concatenate([weights, np.zeros((len(labels), self.n_classes))])
        if latents is None or len(new) > FEW:
            self._fit(weights)
            return
        columns = JointKernel(self.operator, self.prior).columns(new)
        old = columns.above(n)
        if self._matrix is not None:
            self._matrix = _bordered(self._matrix, columns.kernels[0])
        latents = np.concatenate([latents, old.collect(weights[:n])])
        if self._past is not None:
            self._past.grow(old.collect(self._past.by_row()[0]))
        self._fit(*self._refitted(new, columns, weights, latents))

    @all_or_nothing
    def remove(self, rows: Indices) -> None:
        """Remove training rows; the indices of later rows decrease."""
        weights, latents = self.weights, None
        if len(rows) <= FEW:
            columns = self._joint.columns(rows)
            latents = np.delete(self._latents - columns.spread(weights[rows]), rows, axis=0)
            if self._past is not None:
                self._past.shrink(rows, columns.spread)
        self.labels, self.counts = np.delete(self.labels, rows), np.delete(self.counts, rows)
        self.operator.remove(rows)
        if self._matrix is not None:
            self._matrix = np.delete(np.delete(self._matrix, rows, axis=0), rows, axis=1)
        self._fit(np.delete(weights, rows, axis=0), latents)

    @all_or_nothing
    def relabel(
        self,
        labels: Indices,
        renumber: Indices | None = None,
        tree: ClassTree | None = None,
        counts: Floats | None = None,
    ) -> None:
        """Give all rows these labels, perhaps in a tree that has grown, and perhaps other counts."""
        weights, latents = self._in_tree(renumber, tree)
        counts = self.counts if counts is None else counts
        changed = np.flatnonzero((labels != self.labels) | (counts != self.counts))
        self.labels, self.counts = labels, counts
        if latents is not None and 0 < len(changed) <= FEW:
            columns = JointKernel(self.operator, self.prior).columns(changed)
            weights, latents = self._refitted(changed, columns, weights, latents)
        self._fit(weights, latents)

    @all_or_nothing
    def reset(self, prior: Prior) -> None:
        """Another prior for the same rows and labels; its fit starts from these weights."""
        weights = self.weights
        self.operator, self.prior, self._past = _under(self.operator, prior), prior, None
        self._matrix = None
        self._fit(weights)

    @all_or_nothing
    def refit(self, weights: Floats | None = None) -> None:
        """Solve from scratch, or from these weights (n x C)."""
        self._past = self._matrix = None
        self._fit(weights)

    @all_or_nothing
    def follow_levels(self, levels: Any) -> None:
        """The levels of histograms have grown without a new row."""
        self.operator.follow_levels(levels)
        self._joint = JointKernel(self.operator, self.prior, self._matrix)
        self._forget_predictions()

    def latents(self, query: Rows, *, quantised: bool = False) -> Floats:
        """The class functions, rows x C."""
        return self.predictor(query, quantised=quantised)

    def probabilities(self, query: Rows) -> Floats:
        """Of the classes, rows x C; `tree.to_nodes` adds them up for inner nodes."""
        return np.asarray(softmax(self.latents(query), axis=1))

    @cached_property
    def predictor(self) -> Latents:
        """The current latent functions; later changes of the model do not affect them."""
        return self._joint.predictor(self.weights)

    def objective(self) -> float:
        """-log likelihood of the labels plus the penalty."""
        u, a = self.solution.latents, self.solution.weights
        losses = Targets.of(self.labels, self.tree).losses(u)
        return float((self.counts[:, None] * losses).sum() + np.vdot(a, u) / 2)

    def _refitted(self, rows: Indices, columns: Columns, weights: Floats, latents: Floats) -> tuple[Floats, Floats]:
        """Weights and latents after a fit of these rows alone, with all others fixed: a start for the fit of all."""
        few, own = JointKernel(self.operator.only(rows), self.prior), weights[rows]
        others = latents[rows] - few.product(own[:, None])[:, 0]
        targets = Targets.of(self.labels[rows], self.tree)
        counts = self.counts[rows, None]
        alone = fit(few, targets, counts, own[:, None], offset=others[:, None], tolerance=1e-2).weights[:, 0]
        step = np.zeros_like(weights)
        step[rows] = alone - own
        moved = columns.spread(alone - own) + self.prior.noise * step
        # A line search, so that the objective of all rows decreases.
        targets = Targets.of(self.labels, self.tree)
        length = downhill(targets, self.counts[:, None], *(v[:, None] for v in (weights, latents, step, moved)))
        return weights + length * step, latents + length * moved

    def _fit(self, weights: Floats | None, latents: Floats | None = None) -> None:
        """From these weights, whose latents may be known."""
        self._forget_predictions()
        self._joint = JointKernel(self.operator, self.prior, self._kept_matrix())
        if self._past is None or self._past.shape != (len(self.labels), self.n_classes):
            self._past = Subspace(len(self.labels), self.n_classes)
        targets = Targets.of(self.labels, self.tree)
        start, known = (None if part is None else part[:, None] for part in (weights, latents))
        self.solution = fit(
            self._joint, targets, self.counts[:, None], start, known, past=self._past, tolerance=self.tolerance
        )
        if not self.solution.converged:
            self._warn()

    def _warn(self) -> None:
        from sklearn.exceptions import ConvergenceWarning

        warnings.warn(
            f"the softmax fit stopped after {self.solution.steps} steps at a relative gradient of "
            f"{self.solution.gradient:.1e}, not {self.tolerance:g}: lower the variances, or raise the tolerance",
            ConvergenceWarning,
            stacklevel=3,
        )

    def _kept_matrix(self) -> Floats | None:
        """K of the rows, if it is to be kept."""
        n = len(self.labels)
        if not self.keeps_matrix or n > STORED_ROWS or len(self.prior.kernels) > 1:
            self._matrix = None
        elif self._matrix is None or len(self._matrix) != n:
            self._matrix = self.operator.cross(self.operator.training_rows(np.arange(n)))
        return self._matrix

    def _forget_predictions(self) -> None:
        for name in ("predictor", "posterior"):
            self.__dict__.pop(name, None)

    def _in_tree(self, renumber: Indices | None, tree: ClassTree | None) -> tuple[Floats, Floats | None]:
        """Take the tree in place of the old one; weights, and latents if they are known, by its classes.

        A new class without relatives leaves the functions of the others alone; otherwise all must be computed again.
        """
        weights, latents = self.weights, self._latents
        if renumber is None or tree is None or self._is_same(renumber, tree):
            return weights, latents
        old, flat = renumber[: self.n_classes], self.tree.is_flat and tree.is_flat
        kept = old < tree.n_classes  # a class may become an inner node
        wide = np.zeros((2, len(weights), tree.n_classes))
        wide[:, :, old[kept]] = np.stack([weights, latents])[:, :, kept]
        if not flat or len(np.unique(old)) < len(old):  # merged classes leave sums over classes that are not zero
            self._past = None
        elif self._past is not None:
            self._past.renumber(old, tree.n_classes)
        self.labels = renumber[self.labels]
        self.prior = self.prior.with_tree(tree, renumber)
        return wide[0], wide[1] if flat else None

    def _is_same(self, renumber: Indices, tree: ClassTree) -> bool:
        return np.array_equal(tree.parents, self.tree.parents) and np.array_equal(renumber, np.arange(len(tree)))


def _bordered(matrix: Floats, columns: Floats) -> Floats:
    """A symmetric matrix with more columns at its end."""
    n = len(matrix)
    out = np.empty((len(columns), len(columns)))
    out[:n, :n], out[:, n:], out[n:, :n] = matrix, columns, columns[:n].T
    return out


def _under(operator: Operator, prior: Prior) -> Operator:
    """The operator under the prior's first kernel, so that what it keeps of K lives on from fit to fit."""
    return operator if operator.kernel is prior.kernels[0] else operator.with_kernel(prior.kernels[0])
