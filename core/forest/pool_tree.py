"""One tree over a pool: every leaf follows the labels in it, and only its own items are computed again."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from core._types import Floats, Indices
from core.forest.forest import groups
from core.forest.ground import Ground, TreeAnswers
from core.forest.tree import Tree
from core.histograms import LevelTable
from core.posterior import LabelledPool, LabelRegression, LocalParts, Part, PoolPosterior, taken


class Taught(NamedTuple):
    """The model of a leaf, and the items it knows."""

    model: LabelRegression
    items: Indices  # in the order of its rows

    @property
    def memory(self) -> float:
        """Bytes of its factor."""
        return 8.0 * (len(self.items) + 32.0) ** 2


class PoolTree:
    """Each leaf is a labelled pool of the items that end in it.

    Change the labels of the ground, then `follow`. A pure leaf is given at most `leaf_size` of its labels, which makes
    its variance an upper bound, as in `Leaf`. Models that are too large together are dropped, the one used least
    recently first, and solved again when they are needed.
    """

    def __init__(self, tree: Tree, ground: Ground, max_memory: float, answers: TreeAnswers | None = None) -> None:
        self.tree = tree
        self.ground = ground
        self._max_memory = max_memory
        self.models: dict[int, Taught] = {}  # by node, the one used last at the end; replaced, and never changed
        if answers is None:
            m = len(ground)
            nodes = ground.route(tree, ground.rows)
            unknown = np.zeros((m, ground.n_classes)), np.zeros(m), np.full(len(tree.feature), -1)
            answers = TreeAnswers(nodes, *unknown)  # until it is refreshed
        self.answers = answers

    def draft(self, ground: Ground) -> "PoolTree":
        """A twin on the draft of the ground (see core.drafts)."""
        twin = PoolTree(self.tree, ground, self._max_memory, self.answers)
        twin.models = dict(self.models)
        return twin

    def refresh(self) -> None:
        """All items from scratch, by models that are there or solved now."""
        m = len(self.ground)
        mean, variance = np.zeros((m, self.ground.n_classes)), np.zeros(m)
        for node, items, rows in self._leaves():
            model = self.model(node)
            mean[items], variance[items] = model.posterior.means(rows), model.posterior.variance(rows)
        self.answers = TreeAnswers(self.answers.nodes, mean, variance, self.pure())

    def follow(self, items: Indices) -> Indices:
        """The labels of these items have come, gone or changed; returns all items whose posterior has."""
        old = self.answers
        pure = self.pure()
        mean, variance = old.mean, old.variance
        touched = np.unique(old.nodes[items])
        whole = len(self.tree.feature) == 1
        if not whole:  # new arrays, not changed ones: whoever holds the last answers keeps them
            mean, variance = mean.copy(), variance.copy()
        changed = []
        for node in touched.tolist():
            inside = np.arange(len(self.ground)) if whole else np.flatnonzero(old.nodes == node)
            rows = self.ground.rows if whole else taken(self.ground.rows, inside)
            moments = (mean, variance) if whole else (mean[inside], variance[inside])
            leaf = self._led(node, inside, rows, PoolPosterior.of(LocalParts(Part(rows, *moments))))
            if whole:
                mean, variance = leaf.mean, leaf.variance
            else:
                mean[inside], variance[inside] = leaf.mean, leaf.variance
            changed.append(inside)
        self.answers = TreeAnswers(old.nodes, mean, variance, pure)
        return np.concatenate(changed)

    def _leaves(self) -> Iterator[tuple[int, Indices, Any]]:
        """Each leaf that has items, with their numbers and the items as a query."""
        if len(self.tree.feature) == 1:
            yield 0, np.arange(len(self.ground)), self.ground.rows
            return
        for node, items in groups(self.answers.nodes):
            yield node, items, taken(self.ground.rows, items)

    def _led(self, node: int, inside: Indices, rows: Any, pool: PoolPosterior) -> LabelledPool:
        """A leaf whose model was brought to the labels of today, and its items with it."""
        ground, wanted = self.ground, self._wanted(node)
        learnt = np.array(ground.learnt, dtype=np.int64)[wanted]
        known = self.models.get(node)
        gone = learnt[:0] if known is None else np.setdiff1d(known.items, learnt)
        if known is None or len(gone) > 1:
            self.forget_models([node])
            model = self.model(node)
            return LabelledPool(model, PoolPosterior(model.posterior, LocalParts.of(rows)))
        leaf = LabelledPool(known.model, pool, np.searchsorted(inside, known.items).tolist())
        for item in gone:
            leaf.forget(int(np.searchsorted(inside, item)))
        order = np.argsort(learnt)
        places = wanted[order[np.searchsorted(learnt, inside[leaf.learnt], sorter=order)]]
        for i in np.flatnonzero(leaf.numbers != ground.numbers[places]):
            leaf.relabel(leaf.learnt[i], int(ground.numbers[places[i]]))
        new = ~np.isin(learnt, known.items)
        if new.any():
            places = wanted[new]
            leaf.learn(np.searchsorted(inside, learnt[new]), ground.numbers[places], ground.factors[places])
        self._keep(node, Taught(leaf.model, inside[leaf.learnt]))
        return leaf

    def retarget(self) -> None:
        """All classes may have other numbers: the means again; variances where a leaf is to know other labels now."""
        old, labels, learnt = self.answers, self.ground.labels, np.array(self.ground.learnt, dtype=np.int64)
        mean, variance = np.zeros((len(self.ground), self.ground.n_classes)), old.variance.copy()
        for node, items, rows in self._leaves():
            known = self.models.get(node)
            if known is not None and len(np.setxor1d(known.items, learnt[self._wanted(node)])) == 0:
                model = known.model.draft()
                model.relabel(labels[known.items], self.ground.n_classes)
                self.models[node] = known._replace(model=model)
            else:
                self.forget_models([node])
                model = self.model(node)
                variance[items] = model.posterior.variance(rows)
            mean[items] = model.posterior.means(rows)
        self.answers = TreeAnswers(old.nodes, mean, variance, self.pure())

    def follow_levels(self, levels: LevelTable) -> None:
        """The level table has grown: so does that of every model."""
        for node, known in self.models.items():
            model = known.model.draft()
            model.follow_levels(levels)
            self.models[node] = known._replace(model=model)

    def append(self, query: Any) -> None:
        """More items, which are the last of the ground already."""
        old = self.answers
        nodes = self.ground.route(self.tree, query)
        mean, variance = self.moments(query, nodes)
        self.answers = TreeAnswers(
            np.concatenate([old.nodes, nodes]),
            np.concatenate([old.mean, mean]),
            np.concatenate([old.variance, variance]),
            old.pure,
        )

    def outside(self, query: Any) -> TreeAnswers:
        """What this tree says of rows that need not be items."""
        nodes = self.ground.route(self.tree, query)
        return TreeAnswers(nodes, *self.moments(query, nodes), self.answers.pure)

    def moments(self, query: Any, nodes: Indices) -> tuple[Floats, Floats]:
        """Means (rows x M) and variances (rows) by regression in these leaves."""
        mean, variance = np.zeros((len(nodes), self.ground.n_classes)), np.zeros(len(nodes))
        for node, rows in groups(nodes):
            model, some = self.model(node), taken(query, rows)
            mean[rows], variance[rows] = model.posterior.means(some), model.posterior.variance(some)
        return mean, variance

    def model(self, node: int) -> LabelRegression:
        """Of a leaf, solved if it is not there."""
        known = self.models.get(node)
        if known is None:
            wanted = self._wanted(node)
            known = Taught(self.ground.model(wanted), np.array(self.ground.learnt, dtype=np.int64)[wanted])
        self._keep(node, known)
        return known.model

    def forget_models(self, nodes: list[int] | None = None) -> None:
        """Of these leaves, or of all: they are solved from scratch when they are needed."""
        for node in list(self.models) if nodes is None else nodes:
            self.models.pop(node, None)

    def sizes(self) -> Indices:
        """How many labels each node has."""
        return np.bincount(self.answers.nodes[self.ground.learnt], minlength=len(self.tree.feature))

    def _keep(self, node: int, known: Taught) -> None:
        models = {**self.models}
        models.pop(node, None)
        models[node] = known
        while len(models) > 1 and sum(one.memory for one in models.values()) > self._max_memory:
            del models[next(iter(models))]
        self.models = models

    def members(self, node: int) -> Indices:
        """Places in `learnt` of the labels in a leaf."""
        return np.flatnonzero(self.answers.nodes[self.ground.learnt] == node)

    def _wanted(self, node: int) -> Indices:
        """Those of them that the model is to know."""
        places = self.members(node)
        pure = len(self.tree.feature) > 1 and len(np.unique(self.ground.numbers[places])) == 1
        return places[: self.ground.leaf_size] if pure else places

    def pure(self) -> Indices:
        """Of each node: the only class of its labels, or -1; one leaf for all is never taken for pure."""
        n_nodes, nodes = len(self.tree.feature), self.answers.nodes[self.ground.learnt]
        pure = np.full(n_nodes, -1)
        if n_nodes > 1:
            low, high = np.full(n_nodes, np.iinfo(np.int64).max), np.full(n_nodes, -1)
            np.minimum.at(low, nodes, self.ground.numbers)
            np.maximum.at(high, nodes, self.ground.numbers)
            pure[low == high] = low[low == high]
        return pure
