"""What all trees over a pool stand on, and the answers of one tree that the others do not change."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from core._types import Floats, Indices, Table
from core.drafts import Drafted
from core.forest.tree import BLOCK_ROWS, Tree
from core.histograms import CodedRows, RawRows
from core.linalg import HistogramOperator, Operator
from core.posterior import LabelRegression, Size, between, one_vs_all, probit, taken

LEAST_SHARE = 1e-12  # of a label's noise that its own item does not explain, as far as rounding can tell


@dataclass(eq=False)
class Ground(Drafted):
    """Items, the labels of some of them, kernel and noise."""

    operator: Operator  # without rows
    rows: Any  # all items, as a query
    noise: float
    n_classes: int
    leaf_size: int
    max_memory: float
    learnt: list[int] = field(default_factory=list)  # items in the order their labels were learnt
    numbers: Indices = field(default_factory=lambda: np.empty(0, dtype=np.int64))  # the class of each of them
    factors: Floats = field(default_factory=lambda: np.empty(0))  # how much each of their labels is doubted

    def draft(self) -> Self:
        """A twin (see core.drafts)."""
        twin = super().draft()
        twin.operator = self.operator.draft()
        return twin

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def labels(self) -> Indices:
        """The class number of each item, -1 without a label."""
        labels = np.full(len(self), -1, dtype=np.int64)
        labels[self.learnt] = self.numbers
        return labels

    def model(self, places: Indices) -> LabelRegression:
        """Of the labels at these places of `learnt`."""
        none = np.empty(0, dtype=np.int64)
        empty = self.operator.only(none)
        size = Size.of(self.rows)
        model = LabelRegression(empty, none, self.n_classes, noise=self.noise, max_memory=self.max_memory, pool=size)
        if len(places):
            model.operator = self.operator.only(none)
            model.operator.append(taken(self.rows, np.array(self.learnt)[places]))
            model.labels, model.factors = self.numbers[places], self.factors[places]
            model.refit()
        return model

    def route(self, tree: Tree, query: Any) -> Indices:
        """The leaf of each row, read in blocks."""
        nodes = np.zeros(len(query), dtype=np.int64)
        if len(tree.feature) > 1:
            for first in range(0, len(query), BLOCK_ROWS):
                last = min(len(query), first + BLOCK_ROWS)
                nodes[first:last] = tree.route(self.table(between(query, first, last)))
        return nodes

    def table(self, query: Any) -> Table:
        """The numbers that trees look at: of histograms the values that they have, or would have, as items."""
        if not isinstance(query, CodedRows | RawRows):
            return np.asarray(query)
        assert isinstance(self.operator, HistogramOperator)
        levels = self.operator.levels
        if isinstance(query, CodedRows):
            entries = levels.values[query.codes], levels.dims[query.codes], query.starts
        else:
            full = ~levels.room.has_room(np.diff(levels.start), len(levels))[query.dims]
            positions = levels.nearest(query)
            level = np.where(positions < 0, 0.0, levels.sorted_values[positions])
            entries = np.where(full, level, query.values), query.dims, query.starts
        return sp.csr_array(entries, shape=(len(query), levels.n_dims))


class OverGround:
    """What a labelled pool tells of its ground."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground

    def __len__(self) -> int:
        return len(self.ground)

    @property
    def learnt(self) -> list[int]:
        """Items in the order their labels were learnt."""
        return self.ground.learnt

    @property
    def numbers(self) -> Indices:
        """The class number of each of them."""
        return self.ground.numbers

    @property
    def factors(self) -> Floats:
        """How much each of their labels is doubted."""
        return self.ground.factors

    @property
    def labels(self) -> Indices:
        """The class number of each item, -1 without a label."""
        return self.ground.labels

    @property
    def noise(self) -> float:
        """Variance of the noise on a target."""
        return self.ground.noise

    @property
    def noises(self) -> Floats:
        """The variance of the noise on each item's label, or on one to come."""
        noises = np.full(len(self), self.noise)
        noises[self.learnt] *= self.factors
        return noises

    @property
    def all_rows(self) -> Any:
        """All items as a query."""
        return self.ground.rows

    @property
    def operator(self) -> Operator:
        """The kernel, without rows."""
        return self.ground.operator

    @property
    def hyperparameters(self) -> dict[str, float]:
        """Kernel parameters and noise in use, by name."""
        kernel = self.operator.kernel
        return dict(zip((*kernel.names, "noise"), (*map(float, kernel.theta), self.noise), strict=True))

    def rows(self, items: Indices) -> Any:
        """These items as a query."""
        return taken(self.ground.rows, items)


@dataclass(frozen=True, eq=False)
class TreeAnswers:
    """What the leaves of one tree say of all items; never changed.

    A leaf below a split that has labels of one class only says that class (paper 004, section 4).
    """

    nodes: Indices  # m; the leaf of each item
    mean: Floats  # m x M; by regression
    variance: Floats  # m
    pure: Indices  # of each node: the only class of its labels, or -1

    def means(self, items: Indices) -> Floats:
        """What this tree says of some items; items x M."""
        mean, pure = self.mean[items], self.pure[self.nodes[items]]
        certain = np.flatnonzero(pure >= 0)
        mean[certain] = one_vs_all(pure[certain], mean.shape[1])
        return mean

    def probabilities(self, items: Indices, noise: float) -> Floats:
        """Of the classes, items x M."""
        return _probabilities(self.means(items), self.variance[items] + noise, self.pure[self.nodes[items]])

    def left_out(self, items: Indices, numbers: Indices, noises: Floats) -> tuple[Floats, Floats, Floats]:
        """Means, variances of targets, and probabilities of all labelled items, by the other labels in their leaves.

        As for one model (see `Published.left_out`); a leaf where the others are of one class says that class.
        """
        m, nodes = self.mean.shape[1], self.nodes[items]
        counts = np.zeros((len(self.pure), m), dtype=np.int64)
        np.add.at(counts, (nodes, numbers), 1)
        others = counts[nodes]
        others[np.arange(len(items)), numbers] -= 1
        alone = ((others > 0).sum(axis=1) == 1) & (len(self.pure) > 1)
        pure = np.where(alone, others.argmax(axis=1), -1)
        targets = one_vs_all(numbers, m)
        share = np.clip(1.0 - self.variance[items] / noises, LEAST_SHARE, 1.0)
        means = targets - (targets - self.mean[items]) / share[:, None]
        means[alone] = one_vs_all(pure[alone], m)
        return means, noises / share, _probabilities(means, noises / share, pure)


def _probabilities(means: Floats, variances: Floats, pure: Indices) -> Floats:
    found = np.asarray((means > 0.0).astype(np.float64))
    unsure = np.flatnonzero(pure < 0)
    found[unsure] = probit(means[unsure], variances[unsure])
    return found


@dataclass(frozen=True, eq=False)
class Votes:
    """The trees of a forest over a pool at one moment: what does not follow from the moments of their mixture."""

    trees: tuple[TreeAnswers, ...]
    noise: float

    def probabilities(self, items: Indices) -> Floats:
        """Of the classes, averaged over the trees; items x M."""
        return np.asarray(sum(tree.probabilities(items, self.noise) for tree in self.trees) / len(self.trees))

    def moments(self, items: Indices) -> tuple[Floats, Floats]:
        """Mean (items x M) and variance (items) of the mixture: each tree is as likely as the others."""
        n, m, n_trees = len(items), self.trees[0].mean.shape[1], len(self.trees)
        mean, within, squares = np.zeros((n, m)), np.zeros(n), np.zeros(n)
        for tree in self.trees:
            own = tree.means(items)
            mean += own
            within += tree.variance[items]
            squares += np.einsum("im,im->i", own, own)
        mean /= n_trees
        between = (squares / n_trees - np.einsum("im,im->i", mean, mean)) / max(m, 1)
        return mean, within / n_trees + np.maximum(between, 0.0)

    def left_out(self, items: Indices, numbers: Indices, noises: Floats) -> tuple[Floats, Floats, Floats]:
        """Means, variances of targets, and probabilities of all labelled items by the other labels."""
        found = [tree.left_out(items, numbers, noises) for tree in self.trees]
        means, variances, probabilities = (np.mean(part, axis=0) for part in zip(*found, strict=True))
        return means, variances, probabilities
