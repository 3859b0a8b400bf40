"""What the trees of a forest say together: each is as likely as the others (Froehlich et al. 2012, section 4)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from core._types import Floats, Indices
from core.probabilities import class_probabilities

Need = Literal["mean", "moments", "probabilities", "all"]


@dataclass(frozen=True, eq=False)
class TreeMoments:
    """Moments of some rows by the leaves of one tree; what was not needed is zero."""

    mean: Floats  # rows x M; +1 and -1 in a leaf that has one class only
    variance: Floats  # rows
    noise: Floats  # rows; variance of the noise on a target
    pure: Indices  # rows; the only class of the leaf, or -1

    @property
    def probabilities(self) -> Floats:
        """Of the classes, rows x M."""
        return leaf_probabilities(self.mean, self.variance + self.noise, self.pure)


@dataclass(frozen=True, eq=False)
class Mixture:
    """The posterior of some rows, averaged over the trees; what was not needed is zero.

    The variance is that of the mixture: what the leaves do not know, and what the trees do not agree on.
    """

    mean: Floats  # rows x M
    variance: Floats  # rows
    probabilities: Floats  # rows x M


def leaf_probabilities(means: Floats, variances: Floats, pure: Indices) -> Floats:
    """Of the classes, rows x M, from means and variances of targets: one for the only class of a pure leaf."""
    found = np.asarray((means > 0.0).astype(np.float64))
    unsure = np.flatnonzero(pure < 0)
    found[unsure] = class_probabilities("gaussian", means[unsure], variances[unsure])
    return found


def mixture(trees: Iterable[TreeMoments], need: Need = "all") -> Mixture:
    """The average of the trees' moments for the same rows; one tree at a time need be in memory.

    >>> a = TreeMoments(np.array([[1.0, -1.0]]), np.zeros(1), np.ones(1), np.array([0]))
    >>> b = TreeMoments(np.array([[0.0, 0.0]]), np.ones(1), np.ones(1), np.array([-1]))
    >>> found = mixture([a, b])
    >>> found.mean.tolist(), found.variance.tolist(), found.probabilities.tolist()
    ([[0.5, -0.5]], [0.75], [[0.75, 0.25]])
    """
    mean = probabilities = np.zeros((0, 0))
    within = squares = np.zeros(0)
    count = 0
    for tree in trees:
        if not count:
            mean, probabilities = np.zeros(tree.mean.shape), np.zeros(tree.mean.shape)
            within, squares = np.zeros(len(tree.mean)), np.zeros(len(tree.mean))
        count += 1
        mean += tree.mean
        if need in ("moments", "all"):
            within += tree.variance
            squares += np.einsum("im,im->i", tree.mean, tree.mean)
        if need in ("probabilities", "all"):
            probabilities += tree.probabilities
    mean /= count
    if need in ("moments", "all"):
        between = (squares / count - np.einsum("im,im->i", mean, mean)) / max(mean.shape[1], 1)
        within = within / count + np.maximum(between, 0.0)
    return Mixture(mean, within, probabilities / count)


def disagreement(a: Floats, b: Floats) -> Floats:
    """Covariance over the trees of their means for two sets of rows (trees x rows x M), averaged over the classes."""
    a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    return np.asarray(np.einsum("tam,tbm->ab", a, b, optimize=True) / (len(a) * max(a.shape[2], 1)))
