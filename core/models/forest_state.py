"""A pool as query strategies see it, with a forest behind it."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from core._jit.ahead import Items
from core._types import Floats, Indices, Table
from core.forest import Forest, TableRows
from core.models.state import Columns, PoolState
from core.variance import PriorVariance


@dataclass(frozen=True, eq=False)
class ForestState(PoolState):
    """Mean and variance are those of the mixture of trees; so is the covariance of two items.

    Items that share no leaf are independent a priori.
    """

    shares: Callable[[Indices], Floats]  # probabilities of items, averaged over the trees
    trees: Callable[[Indices], Items]  # what each of them says of items
    by_tree: Columns  # posterior covariance of pool items, trees x rows x columns

    @classmethod
    def of(
        cls, forest: Forest[TableRows], pool: Table, rows: Indices, reference: Indices, labelled: Indices
    ) -> "ForestState":
        """The items `rows` (ascending) of a pool of checked rows; `reference` stands for it, `labelled` have labels."""
        known = forest.posterior(pool[rows])
        nodes = [forest.rows.route(tree, pool) for tree in forest.trees]

        def means(items: Indices) -> Floats:
            return np.stack([tree.mean for tree in forest.tree_moments(pool[items], "mean")])

        def covariance(a: Indices, b: Indices) -> Floats:
            return forest.covariance(pool, nodes, a, b, means)

        def kernel(a: Indices, b: Indices) -> Floats:
            return forest.kernel(pool, nodes, a, b)

        def covariances(a: Indices, b: Indices) -> Floats:
            return forest.covariances(pool, nodes, a, b)

        def trees(items: Indices) -> Items:
            return forest.posteriors(pool[items], [leaves[items] for leaves in nodes])

        def shares(items: Indices) -> Floats:
            return known.probabilities[np.searchsorted(rows, items)]

        prior = PriorVariance(forest.rows.operator(np.zeros(1, dtype=np.int64), forest.settings.kernel))

        def own(items: Indices) -> Floats:
            return prior(forest.rows.query(pool[items]))

        return cls(
            known.mean,
            known.variance,
            forest.noise,
            rows,
            covariance,
            kernel,
            reference,
            labelled,
            shares,
            trees,
            covariances,
            around=trees(reference),
            own=own,
        )

    @property
    def items(self) -> Items:
        """What each tree says of the items."""
        return self.trees(self.rows)

    def covariances(self, rows: Indices, columns: Indices) -> Floats:
        """Posterior covariance of pool items by each tree, trees x rows x columns."""
        return self.by_tree(rows, columns)

    @property
    def probabilities(self) -> Floats:
        """Of the classes, m x M."""
        return self.shares(self.rows)
