"""A pool as query strategies see it, with a forest behind it."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from core._types import Floats, Indices, Table
from core.forest.forest import Forest
from core.queries import PoolState


@dataclass(frozen=True, eq=False)
class ForestPool(PoolState):
    """Mean and variance are those of the mixture of trees; so is the covariance of two items.

    Items that share no leaf are independent a priori.
    """

    shares: Callable[[Indices], Floats]  # probabilities of items, averaged over the trees

    @classmethod
    def of(cls, forest: Forest, pool: Table, rows: Indices, reference: Indices, labelled: Indices) -> "ForestPool":
        """The items `rows` (ascending) of a pool of checked rows; `reference` stands for it, `labelled` have labels."""
        known = forest.posterior(pool[rows])
        nodes = np.stack([tree.route(pool) for tree in forest.trees])

        def covariance(a: Indices, b: Indices) -> Floats:
            return _average(forest, pool, nodes, a, b, posterior=True) + _disagreement(forest, pool[a], pool[b])

        def kernel(a: Indices, b: Indices) -> Floats:
            return _average(forest, pool, nodes, a, b, posterior=False)

        def shares(items: Indices) -> Floats:
            return known.probabilities[np.searchsorted(rows, items)]

        return cls(known.mean, known.variance, forest.noise, rows, covariance, kernel, reference, labelled, shares)

    @property
    def probabilities(self) -> Floats:
        """Of the classes, m x M."""
        return self.shares(self.rows)


def _average(forest: Forest, pool: Table, nodes: Indices, a: Indices, b: Indices, *, posterior: bool) -> Floats:
    """Covariance of items in the same leaf, zero elsewhere, averaged over the trees; a x b."""
    total = np.zeros((len(a), len(b)))
    for t, leaves in enumerate(forest.leaves):
        for node in np.intersect1d(nodes[t, a], nodes[t, b]):
            i, j = np.flatnonzero(nodes[t, a] == node), np.flatnonzero(nodes[t, b] == node)
            leaf = leaves[int(node)]
            function = leaf.covariance if posterior else leaf.prior
            total[np.ix_(i, j)] += function(pool[a[i]], pool[b[j]], forest.store, forest.theory)
    return total / len(forest.trees)


def _disagreement(forest: Forest, a: Table, b: Table) -> Floats:
    """Covariance of the trees' means over the trees, averaged over the classes; a x b."""
    means = []
    for x in (a, b):
        of_trees = np.zeros((len(forest.trees), x.shape[0], forest.n_classes))
        for t in range(len(forest.trees)):
            for rows, answer in forest.answers(t, x, "mean"):
                of_trees[t, rows] = answer.mean
        means.append(of_trees - of_trees.mean(axis=0))
    scale = len(forest.trees) * max(forest.n_classes, 1)
    return np.asarray(np.einsum("tam,tbm->ab", *means, optimize=True) / scale)
