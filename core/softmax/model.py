"""Softmax likelihood: class numbers in, calibrated probabilities of all classes out (paper 001, sections 2 and 3)."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import softmax

from core._types import Floats, Indices
from core.histograms import LevelTable
from core.linalg import HistogramOperator, Operator
from core.softmax.joint import JointKernel, Latents
from core.softmax.newton import TOLERANCE, Fit, fit
from core.softmax.prior import Prior
from core.softmax.targets import Targets
from core.softmax.tree import ClassTree


class SoftmaxRegression:
    """One function a class (a sum of functions along its path in a tree) over the rows of an operator.

    A label is a class number, or the number of an inner node: "one of these". Every change solves again from the last
    weights, and leaves what a fresh fit would give.
    """

    solution: Fit
    _joint: JointKernel

    def __init__(self, operator: Operator, labels: Indices, prior: Prior, *, tolerance: float = TOLERANCE) -> None:
        self.operator = _under(operator, prior)
        self.labels = labels  # n, node numbers
        self.prior = prior
        self.tolerance = tolerance
        self._fit(None)

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

    def add(self, query: Any, labels: Indices, renumber: Indices | None = None, tree: ClassTree | None = None) -> None:
        """Learn more rows; where the tree grows, `renumber` gives the old nodes their new numbers."""
        self.operator.check(query)
        with self.all_or_nothing():
            other = self._is_other(renumber, tree)
            weights, n = self._renumbered(renumber, tree), len(self.labels)
            before = JointKernel(self.operator, self.prior).predictor(weights) if other else self.predictor
            latents = before(query)
            self.labels = np.concatenate([self.labels, labels])
            self.operator.append(query)
            new = JointKernel(self.operator.only(np.arange(n, len(self.labels))), self.prior)
            # What the new rows would make of their labels alone is a better start than nothing.
            alone = fit(new, Targets.of(labels, self.tree), offset=latents[:, None], tolerance=1e-2).weights[:, 0]
            known = None
            if not other:
                moved = new.predictor(alone)(self.operator.own(np.arange(len(self.labels))))
                known = moved + np.concatenate([self.solution.latents[:, 0], latents + self.prior.noise * alone])
            self._fit(np.concatenate([weights, alone]), known)

    def remove(self, rows: Indices) -> None:
        """Forget rows; the others move up."""
        with self.all_or_nothing():
            weights = np.delete(self.weights, rows, axis=0)
            self.labels = np.delete(self.labels, rows)
            self.operator.remove(rows)
            self._fit(weights)

    def relabel(self, labels: Indices, renumber: Indices | None = None, tree: ClassTree | None = None) -> None:
        """Give all rows these labels, perhaps in a tree that has grown."""
        with self.all_or_nothing():
            other = self._is_other(renumber, tree)
            weights = self._renumbered(renumber, tree)
            self.labels = labels
            self._fit(weights, None if other else self.solution.latents[:, 0])

    def reset(self, prior: Prior) -> None:
        """Another prior for the same rows and labels; its fit starts from these weights."""
        weights = self.weights
        self.operator, self.prior = _under(self.operator, prior), prior
        self._fit(weights)

    def refit(self, weights: Floats | None = None) -> None:
        """Solve from scratch, or from these weights (n x C)."""
        self._fit(weights)

    def follow_levels(self, levels: LevelTable) -> None:
        """The level table of a histogram operator has grown without a new row."""
        if isinstance(self.operator, HistogramOperator):
            self.operator.follow_levels(levels)
            self._forget_predictions()

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """Take everything back when a change fails half-way."""
        before, rows = (self.labels, self.prior, self.solution, self._joint), self.operator.checkpoint()
        try:
            yield
        except Exception:
            self.labels, self.prior, self.solution, self._joint = before
            self.operator.restore(rows)
            self._forget_predictions()
            raise

    def latents(self, query: Any, *, quantised: bool = False) -> Floats:
        """The class functions, rows x C."""
        return self.predictor(query, quantised=quantised)

    def probabilities(self, query: Any) -> Floats:
        """Of the classes, rows x C; `tree.to_nodes` adds them up for inner nodes."""
        return np.asarray(softmax(self.latents(query), axis=1))

    @cached_property
    def predictor(self) -> Latents:
        """The latent functions as they are now, which later changes do not touch."""
        return self._joint.predictor(self.weights)

    def objective(self) -> float:
        """-log likelihood of the labels plus the penalty."""
        u, a = self.solution.latents, self.solution.weights
        return float(Targets.of(self.labels, self.tree).losses(u).sum() + np.vdot(a, u) / 2)

    def _fit(self, weights: Floats | None, latents: Floats | None = None) -> None:
        """From these weights, whose latents may be known."""
        self._forget_predictions()
        self._joint = JointKernel(self.operator, self.prior)
        targets = Targets.of(self.labels, self.tree)
        start, known = (None if part is None else part[:, None] for part in (weights, latents))
        self.solution = fit(self._joint, targets, weights=start, latents=known, tolerance=self.tolerance)

    def _forget_predictions(self) -> None:
        for name in ("predictor", "posterior"):
            self.__dict__.pop(name, None)

    def _is_other(self, renumber: Indices | None, tree: ClassTree | None) -> bool:
        """Whether the nodes are no longer the same, so that latents must be computed anew."""
        if renumber is None or tree is None:
            return False
        same = np.array_equal(tree.parents, self.tree.parents) and np.array_equal(renumber, np.arange(len(tree)))
        return not same

    def _renumbered(self, renumber: Indices | None, tree: ClassTree | None) -> Floats:
        """Take the tree in place of the old one; the old weights by its classes."""
        if renumber is None or tree is None:
            return self.weights
        weights = np.zeros((len(self.labels), tree.n_classes))
        old = renumber[: self.n_classes]
        kept = old < tree.n_classes  # a class may become an inner node
        weights[:, old[kept]] = self.weights[:, kept]
        self.labels = renumber[self.labels]
        self.prior = self.prior.with_tree(tree, renumber)
        return weights


def _under(operator: Operator, prior: Prior) -> Operator:
    """The operator under the prior's first kernel, so that what it keeps of K lives on from fit to fit."""
    return operator if operator.kernel is prior.kernels[0] else operator.with_kernel(prior.kernels[0])
