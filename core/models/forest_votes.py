"""What the trees of a forest say of all items of a pool, tree by tree."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from core._jit.ahead import Items
from core._types import Floats, Indices
from core.forest import Mixture, TreeMoments, leaf_probabilities, mixture
from core.forest.mixture import Need
from core.models.base import MIN_SHARE
from core.posterior import one_vs_all


@dataclass(frozen=True, eq=False)
class TreePredictions:
    """What the leaves of one tree say of all items; never changed."""

    nodes: Indices  # m; the leaf of each item
    mean: Floats  # m x M; by regression, also where a leaf is pure
    variance: Floats  # m
    pure: Indices  # of each node: the only class of its labels, which it says then, or -1

    def of(self, items: Indices, noise: float) -> TreeMoments:
        """What this tree says of some items."""
        mean, pure = self.mean[items], self.pure[self.nodes[items]]
        certain = np.flatnonzero(pure >= 0)
        mean[certain] = one_vs_all(pure[certain], mean.shape[1])
        return TreeMoments(mean, self.variance[items], np.full(len(items), noise), pure)

    def left_out(self, items: Indices, numbers: Indices, noises: Floats) -> tuple[Floats, Floats, Floats]:
        """Means, variances of targets, and probabilities of all labelled items, by the other labels in their leaves.

        As for one model (see `MomentPredictions.left_out`); a leaf where the others are of one class says that class.
        """
        m, nodes = self.mean.shape[1], self.nodes[items]
        counts = np.zeros((len(self.pure), m), dtype=np.int64)
        np.add.at(counts, (nodes, numbers), 1)
        others = counts[nodes]
        others[np.arange(len(items)), numbers] -= 1
        alone = ((others > 0).sum(axis=1) == 1) & (len(self.pure) > 1)
        pure = np.where(alone, others.argmax(axis=1), -1)
        targets = one_vs_all(numbers, m)
        share = np.clip(1.0 - self.variance[items] / noises, MIN_SHARE, 1.0)
        means = targets - (targets - self.mean[items]) / share[:, None]
        means[alone] = one_vs_all(pure[alone], m)
        return means, noises / share, leaf_probabilities(means, noises / share, pure)


@dataclass(frozen=True, eq=False)
class Votes:
    """The trees of a forest over a pool at one moment: what does not follow from the moments of their mixture."""

    trees: tuple[TreePredictions, ...]
    noise: float

    def mixture(self, items: Indices, need: Need = "all") -> Mixture:
        """Of some items."""
        return mixture(self._of(items), need)

    def means(self, items: Indices) -> Floats:
        """What each tree says of some items; trees x items x M."""
        return np.stack([tree.mean for tree in self._of(items)])

    def posteriors(self, items: Indices) -> Items:
        """What each tree says of some items: by regression, also in a leaf of one class."""
        nodes = np.stack([tree.nodes[items] for tree in self.trees]).astype(np.int64)
        return Items(
            np.stack([tree.mean[items] for tree in self.trees]),
            np.stack([tree.variance[items] for tree in self.trees]),
            np.full(nodes.shape, self.noise),
            nodes,
            np.stack([tree.pure[leaves] for tree, leaves in zip(self.trees, nodes, strict=True)]).astype(np.int64),
        )

    def probabilities(self, items: Indices) -> Floats:
        """Of the classes, averaged over the trees; items x M."""
        return self.mixture(items, "probabilities").probabilities

    def left_out(self, items: Indices, numbers: Indices, noises: Floats) -> tuple[Floats, Floats, Floats]:
        """Means, variances of targets, and probabilities of all labelled items by the other labels."""
        found = [tree.left_out(items, numbers, noises) for tree in self.trees]
        means, variances, probabilities = (np.mean(part, axis=0) for part in zip(*found, strict=True))
        return means, variances, probabilities

    def _of(self, items: Indices) -> Iterator[TreeMoments]:
        return (tree.of(items, self.noise) for tree in self.trees)
