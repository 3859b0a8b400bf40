"""Trees over the same rows, a Gaussian process in every leaf, and their average (Froehlich et al. 2012, section 4)."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Generic, Self, TypeVar

import numpy as np

from core._jit.ahead import Items
from core._types import Floats, Indices, no_rows
from core.drafts import Drafted, all_or_nothing
from core.forest.leaf import MIN_ROWS, Leaf, LeafModel, LeafSettings, ModelCache, for_all_classes
from core.forest.mixture import Mixture, Need, TreeMoments, disagreement, mixture
from core.forest.rows import ForestRows
from core.forest.tree import Tree, TreeRule, grow
from core.kernels import Kernel
from core.posterior import LabelRegression, one_vs_all
from core.rows import Rows

BLOCK_ROWS = 1 << 16

R = TypeVar("R", bound=ForestRows)


class Forest(Drafted, Generic[R]):
    """Follows the labels of its rows: they are routed to their leaves, and each leaf is then the fit of its own rows.

    Models are solved when they are asked, and dropped where memory is full. One tree by rule "best" is the paper's
    DT-GP; one leaf is one Gaussian process.
    """

    def __init__(
        self,
        settings: LeafSettings,
        rows: R,
        labels: Indices,
        n_classes: int,
        trees: Sequence[Tree] = (),
        rule: TreeRule = "extra",
        seed: int = 0,
    ) -> None:
        self.settings = settings
        self.rows = rows
        self.labels = labels  # the class number of each row, -1 without a label
        self.noise_factors: Floats | None = None  # of the noise on each row's label, where they are not all 1
        self.n_classes = n_classes
        self.rule: TreeRule = rule
        self.seed = seed
        self.models = ModelCache(settings.max_memory)
        self.replace_trees(trees or [Tree.leaf()])

    def draft(self) -> Self:
        """A twin (see core.drafts)."""
        twin = super().draft()
        twin.rows, twin.models = self.rows.draft(), self.models.draft()
        twin.leaves = [dict(leaves) for leaves in self.leaves]
        return twin

    def grow(self, n_trees: int, labelled: Indices | None = None) -> None:
        """So many trees for the labels of today; `labelled` are the rows that have one, in the order they came."""
        rows = self._labelled(labelled)
        x = self.rows.table(self._rows(rows))
        labels, size = self.labels[rows], self.settings.leaf_size
        self.replace_trees([grow(x, labels, size, self.rule, self.seed + t) for t in range(n_trees)], rows)

    def replace_trees(self, trees: Sequence[Tree], labelled: Indices | None = None) -> None:
        """Other trees for the same rows and labels; `labelled` as above."""
        rows = self._labelled(labelled)
        x = self._rows(rows)
        leaves = []
        for tree in trees:
            is_root = len(tree.feature) == 1
            found = {node: self._leaf(rows[places], is_root) for node, places in groups(self.rows.route(tree, x))}
            leaves.append({node: found.get(node) or self._leaf(rows[:0], is_root) for node in tree.leaves.tolist()})
        self.trees, self.leaves = list(trees), leaves
        self.models.clear()

    @property
    def is_one_leaf(self) -> bool:
        """Whether there is one tree, which is one leaf."""
        return len(self.trees) == 1 and len(self.trees[0].feature) == 1

    @property
    def noise(self) -> float:
        """Variance of the noise on a target, over all rows and trees on average."""
        leaves = [leaf for leaves in self.leaves for leaf in leaves.values()]
        sizes = np.array([len(leaf.members) for leaf in leaves], dtype=np.float64)
        if not sizes.any() or all(leaf.noise is None for leaf in leaves):
            return self.settings.noise
        return float(sizes @ np.array([leaf.noise or self.settings.noise for leaf in leaves]) / sizes.sum())

    @all_or_nothing
    def fit(self) -> None:
        """Solve every leaf that is not pure; what memory does not hold is solved again when it is needed."""
        for t, leaves in enumerate(self.leaves):
            for node in list(leaves):
                if leaves[node].pure is None:
                    self.model(t, node)

    @all_or_nothing
    def reset(self, kernel: Kernel, noise: float) -> None:
        """Another kernel and noise for all leaves."""
        self.settings = replace(self.settings, kernel=kernel, noise=noise)
        self.models.clear()
        self.leaves = [
            {node: replace(leaf, kernel=None, noise=None, weights=None) for node, leaf in leaves.items()}
            for leaves in self.leaves
        ]

    @all_or_nothing
    def tune_leaves(self, tune: Callable[[LabelRegression], tuple[Kernel, float]]) -> None:
        """Hyperparameters of its own for each leaf that has rows enough, by a search that begins with its model."""
        for t, leaves in enumerate(self.leaves):
            for node, leaf in list(leaves.items()):
                if len(leaf.classes) > 1 and len(leaf.members) >= MIN_ROWS:
                    known = self.model(t, node)
                    regression = known.regression.draft()
                    kernel, noise = tune(regression)
                    regression.reset(kernel, noise)
                    leaves[node] = replace(leaf, kernel=kernel, noise=noise, weights=None)
                    self._keep(t, node, replace(known, leaf=leaves[node], regression=regression))

    @all_or_nothing
    def append(self, x: Rows, labels: Indices | None = None) -> None:
        """More rows, with labels or without; leaves that have become too large are split before they are solved."""
        n = len(self.rows)
        self.rows.append(x)
        more = np.full(len(self.rows) - n, -1) if labels is None else labels
        self.labels = np.concatenate([self.labels, more])
        if self.noise_factors is not None:
            self.noise_factors = np.concatenate([self.noise_factors, np.ones(len(more))])
        if labels is not None:
            for t, node in self._enter(x, n + np.arange(len(more))):
                leaf = self.leaves[t][node]
                if len(leaf.classes) > 1 and len(leaf.members) > max(2 * self.settings.leaf_size, 2 * leaf.tried):
                    self._split(t, node)

    @all_or_nothing
    def learn(self, rows: Indices, labels: Indices, noise_factors: Floats) -> None:
        """Rows get their first labels; `noise_factors` multiply the noise on them."""
        self.labels = _changed(self.labels, rows, labels)
        self.noise_factors = _changed(
            np.ones(len(self.labels)) if self.noise_factors is None else self.noise_factors, rows, noise_factors
        )
        self._enter(self.rows.take(rows), rows)

    @all_or_nothing
    def forget(self, rows: Indices) -> None:
        """Rows lose their labels."""
        for t, node, _ in self._touched(self.rows.take(rows)):
            leaf = self.leaves[t][node]
            self._change_members(t, node, leaf.members[~np.isin(leaf.members, rows)])
        self.labels = _changed(self.labels, rows, -1)
        if self.noise_factors is not None:
            self.noise_factors = _changed(self.noise_factors, rows, 1.0)

    @all_or_nothing
    def relabel(self, rows: Indices, labels: Indices) -> None:
        """Rows get other class numbers."""
        self.labels = _changed(self.labels, rows, labels)
        for t, node, _ in self._touched(self.rows.take(rows)):
            self._change_members(t, node, self.leaves[t][node].members)

    @all_or_nothing
    def renumber_rows(self, numbers: Indices) -> None:
        """Rows have these numbers, in the same order; those with -1, which have no labels, are gone."""
        before = self.leaves
        self.labels = self.labels[numbers >= 0]
        self.noise_factors = None if self.noise_factors is None else self.noise_factors[numbers >= 0]
        self.leaves = [
            {node: replace(leaf, members=numbers[leaf.members]) for node, leaf in leaves.items()} for leaves in before
        ]
        for (t, node), known in self.models.items():
            if known.leaf is before[t][node]:
                self.models.replace((t, node), replace(known, leaf=self.leaves[t][node], rows=numbers[known.rows]))
            else:
                self.models.drop((t, node))

    @all_or_nothing
    def renumber(self, numbers: Indices, n_classes: int) -> None:
        """Classes have these numbers from now on: they come or are merged. Models that still fit get other targets."""
        before, given = self.leaves, self.labels >= 0
        self.n_classes = n_classes
        self.labels = _changed(self.labels, given, numbers[self.labels[given]])
        self.leaves = [{node: self._renumbered(leaf, numbers) for node, leaf in leaves.items()} for leaves in before]
        for (t, node), known in self.models.items():
            leaf = self.leaves[t][node]
            found = self._retargeted(known, leaf, numbers) if known.leaf is before[t][node] else None
            if found is None:
                self.models.drop((t, node))
            else:
                self.models.replace((t, node), found)

    def _renumbered(self, leaf: Leaf, numbers: Indices) -> Leaf:
        classes = np.unique(numbers[leaf.classes])
        fits = not self.settings.every_class and np.array_equal(classes, numbers[leaf.classes])
        return replace(leaf, classes=classes, weights=leaf.weights if fits else None)

    def _retargeted(self, known: LeafModel, leaf: Leaf, numbers: Indices) -> LeafModel | None:
        """The model of a leaf under other class numbers, if it knows the rows that it should."""
        if not np.array_equal(known.rows, leaf.expected(self.settings)):
            return None
        classes, n_functions = self._functions(leaf)
        labels, regression = self.labels[known.rows], known.regression
        if self.settings.every_class or not np.array_equal(classes, numbers[known.classes]):
            if known.is_merged:
                return None
            regression = regression.draft()
            regression.relabel(np.searchsorted(classes, labels), n_functions)
        return LeafModel(leaf, known.rows, labels, classes, regression)

    def means(self, x: Rows) -> Floats:
        """Averaged over the trees; rows x M. Models that were dropped are not solved for it."""
        return mixture(self.tree_moments(x, "mean"), "mean").mean

    def probabilities(self, x: Rows) -> Floats:
        """Of the classes, averaged over the trees; rows x M."""
        return mixture(self.tree_moments(x, "probabilities"), "probabilities").probabilities

    def posterior(self, x: Rows) -> Mixture:
        """Mean, variance and probabilities."""
        return mixture(self.tree_moments(x))

    def tree_moments(self, x: Rows, need: Need = "all") -> Iterator[TreeMoments]:
        """What the trees say one by one of rows in the form that they are kept in."""
        for t, tree in enumerate(self.trees):
            yield self._tree_moments(t, x, self.rows.route(tree, x), need)

    def _tree_moments(self, t: int, x: Rows, nodes: Indices, need: Need) -> TreeMoments:
        n = len(nodes)
        mean, variance = np.zeros((n, self.n_classes)), np.zeros(n)
        noise, pure = np.full(n, self.settings.noise), np.full(n, -1)
        for node, places in groups(nodes):
            leaf = self.leaves[t][node]
            if leaf.noise is not None:
                noise[places] = leaf.noise
            if leaf.pure is not None:
                mean[places], pure[places] = one_vs_all(np.array([leaf.pure]), self.n_classes), leaf.pure
            for first in range(0, len(places), BLOCK_ROWS):
                some = places[first : first + BLOCK_ROWS]
                if leaf.pure is not None and need in ("mean", "probabilities"):
                    continue
                query = self.rows.query(x[some])
                if leaf.pure is None:
                    mean[some] = self._means(t, node, query)
                if need != "mean":
                    variance[some] = self.model(t, node).variance(query)
        return TreeMoments(mean, variance, noise, pure)

    def _means(self, t: int, node: int, query: Rows) -> Floats:
        leaf = self.leaves[t][node]
        if leaf.weights is None or (t, node) in self.models:
            return self.model(t, node).means(query, self.n_classes)
        operator = self.rows.operator(leaf.expected(self.settings), leaf.kernel or self.settings.kernel)
        means = operator.predictor(leaf.weights)(query)
        return for_all_classes(means, self._functions(leaf)[0], self.n_classes)

    def covariance(
        self, x: Rows, nodes: Sequence[Indices], a: Indices, b: Indices, means: Callable[[Indices], Floats]
    ) -> Floats:
        """Posterior covariance of rows at some places of x: in leaves they share, and of what the trees disagree on.

        `nodes` are the leaves of x in each tree, and `means` are what each tree says; trees x places x M.
        """

        total = np.asarray(self.covariances(x, nodes, a, b).mean(axis=0))
        return total if self.is_one_leaf else total + disagreement(means(a), means(b))

    def covariances(self, x: Rows, nodes: Sequence[Indices], a: Indices, b: Indices) -> Floats:
        """The same by each tree, zero between leaves; trees x a x b."""

        def shared(t: int, node: int, xa: Rows, xb: Rows) -> Floats:
            return self.rows.covariance(self.model(t, node).regression, xa, xb)

        return self._by_tree(x, nodes, a, b, shared)

    def kernel(self, x: Rows, nodes: Sequence[Indices], a: Indices, b: Indices) -> Floats:
        """Prior covariance of rows at some places of x; those that share no leaf are independent."""

        def shared(t: int, node: int, xa: Rows, xb: Rows) -> Floats:
            return self.rows.prior(xa, xb, self.leaves[t][node].kernel or self.settings.kernel)

        return np.asarray(self._by_tree(x, nodes, a, b, shared).mean(axis=0))

    def posteriors(self, x: Rows, nodes: Sequence[Indices]) -> Items:
        """What each tree says of rows, whose leaves these are: by regression, also in a leaf of one class."""
        shape = len(self.trees), len(nodes[0])
        found = Items(
            np.zeros((*shape, self.n_classes)),
            np.zeros(shape),
            np.full(shape, self.settings.noise),
            np.stack(nodes).astype(np.int64),
            np.full(shape, -1),
        )
        for t in range(len(self.trees)):
            for node, places in groups(nodes[t]):
                model, leaf, query = self.model(t, node), self.leaves[t][node], self.rows.query(x[places])
                found.mean[t, places] = model.means(query, self.n_classes)
                found.variance[t, places] = model.variance(query)
                found.noise[t, places] = self.settings.noise if leaf.noise is None else leaf.noise
                found.pure[t, places] = -1 if leaf.pure is None else leaf.pure
        return found

    def _by_tree(
        self,
        x: Rows,
        nodes: Sequence[Indices],
        a: Indices,
        b: Indices,
        function: Callable[[int, int, Rows, Rows], Floats],
    ) -> Floats:
        """A function of rows in the same leaf, zero elsewhere; trees x a x b."""
        found = np.zeros((len(self.trees), len(a), len(b)))
        for t in range(len(self.trees)):
            others = dict(groups(nodes[t][b]))
            for node, i in groups(nodes[t][a]):
                if node in others:
                    j = others[node]
                    found[t][np.ix_(i, j)] = function(t, node, x[a[i]], x[b[j]])
        return found

    def model(self, t: int, node: int) -> LeafModel:
        """Of a leaf as it is now: more rows are added to the model that is there, or it is solved from scratch."""
        leaf, known = self.leaves[t][node], self.models.get((t, node))
        if known is None or known.leaf is not leaf:
            known = self._grown(known, leaf) or self._solved(leaf)
        self._keep(t, node, known)
        return known

    def keep(self, t: int, node: int, regression: LabelRegression) -> None:
        """Take this for the model of a leaf as it is now."""
        leaf = self.leaves[t][node]
        rows, (classes, _) = leaf.expected(self.settings), self._functions(leaf)
        self._keep(t, node, LeafModel(leaf, rows, self.labels[rows], classes, regression))

    def _solved(self, leaf: Leaf) -> LeafModel:
        rows, size = leaf.expected(self.settings), self.settings.leaf_size
        classes, n_functions = self._functions(leaf)
        used, labels, noise_factors = rows, self.labels[rows], self.noise_factors_of(rows)
        if len(rows) > 2 * size:  # that could not be split
            used, labels, noise_factors = self.rows.distinct(rows, labels, noise_factors)
        operator, numbers = (
            self.rows.operator(used, leaf.kernel or self.settings.kernel),
            np.searchsorted(classes, labels),
        )
        begin = (operator, numbers) if (noise_factors == 1.0).all() else (operator.only(no_rows()), no_rows())
        regression = LabelRegression(
            *begin,
            n_functions,
            noise=leaf.noise or self.settings.noise,
            max_memory=self.rows.max_memory,
            pool_size=self.rows.pool_size,
        )
        if len(regression.labels) < len(numbers):  # labels that are doubted
            regression.operator, regression.labels, regression.noise_factors = operator, numbers, noise_factors
            regression.refit()
        return LeafModel(leaf, rows, self.labels[rows], classes, regression)

    def _grown(self, known: LeafModel | None, leaf: Leaf) -> LeafModel | None:
        """With the rows that have come to its leaf, if that is all that has changed and they are not too many."""
        rows = leaf.expected(self.settings)
        labels = self.labels[rows]
        if known is None or known.leaf.kernel is not leaf.kernel:
            return None
        n = len(known.rows)
        if not (np.array_equal(known.rows, rows[:n]) and np.array_equal(known.labels, labels[:n])):
            return None
        if len(known.regression.labels) + len(rows) - n > 2 * self.settings.leaf_size:
            return None
        classes, n_functions = self._functions(leaf)
        regression = known.regression
        if len(rows) > n:
            regression = regression.draft()
            regression.add(
                self.rows.query(self.rows.take(rows[n:])),
                np.searchsorted(classes, labels[n:]),
                np.searchsorted(classes, known.classes),
                n_functions,
                self.noise_factors_of(rows[n:]),
            )
        return LeafModel(leaf, rows, labels, classes, regression)

    def _functions(self, leaf: Leaf) -> tuple[Indices, int]:
        """The classes with a function of their own in a leaf, and how many functions there are."""
        if self.settings.every_class:
            return np.arange(self.n_classes), self.n_classes
        return leaf.classes, len(leaf.classes) + 1

    def noise_factors_of(self, rows: Indices) -> Floats:
        """Of the noise on the labels of these rows."""
        return np.ones(len(rows)) if self.noise_factors is None else self.noise_factors[rows]

    def _keep(self, t: int, node: int, known: LeafModel) -> None:
        for (other, place), dropped in self.models.keep((t, node), known):
            leaf = self.leaves[other][place]
            if dropped.leaf is leaf and leaf.pure is None and not dropped.is_merged:
                self.leaves[other][place] = replace(leaf, weights=dropped.regression.posterior.weights)

    def _labelled(self, labelled: Indices | None) -> Indices:
        return np.flatnonzero(self.labels >= 0) if labelled is None else labelled

    def _rows(self, rows: Indices) -> Rows:
        """These rows, without a copy where they are all in their order."""
        every = len(rows) == len(self.rows) and np.array_equal(rows, np.arange(len(rows)))
        return self.rows.take(None if every else rows)

    def _leaf(self, members: Indices, is_root: bool) -> Leaf:
        return Leaf(members, np.unique(self.labels[members]), is_root)

    def _touched(self, x: Rows) -> Iterator[tuple[int, int, Indices]]:
        """Tree, leaf and places of x in it, for all leaves that these rows end in."""
        for t, tree in enumerate(self.trees):
            for node, places in groups(self.rows.route(tree, x)):
                yield t, node, places

    def _enter(self, x: Rows, rows: Indices) -> list[tuple[int, int]]:
        """Put rows that have labels by now into their leaves; returns these."""
        entered = []
        for t, node, places in self._touched(x):
            leaf, new = self.leaves[t][node], rows[places]
            classes = np.union1d(leaf.classes, self.labels[new])
            self.leaves[t][node] = leaf.changed(np.concatenate([leaf.members, new]), classes)
            entered.append((t, node))
        return entered

    def _change_members(self, t: int, node: int, members: Indices) -> None:
        leaf = self.leaves[t][node].changed(members, np.unique(self.labels[members]))
        self.leaves[t][node] = replace(leaf, tried=0)  # other labels may be told apart

    def _split(self, t: int, node: int) -> None:
        """Grow the tree below a leaf that has become too large, if its rows can be told apart."""
        leaf, size = self.leaves[t][node], self.settings.leaf_size
        x = self.rows.take(leaf.members)
        below = grow(
            self.rows.table(x), self.labels[leaf.members], size, self.rule, self.seed + t + len(self.trees[t].feature)
        )
        if len(below.feature) == 1:
            self.leaves[t][node] = replace(leaf, tried=len(leaf.members))
            return
        tree = self.trees[t].split(node, below)
        self.trees = [*self.trees[:t], tree, *self.trees[t + 1 :]]
        del self.leaves[t][node]
        self.models.drop((t, node))
        for new, places in groups(self.rows.route(tree, x)):
            self.leaves[t][new] = self._leaf(leaf.members[places], is_root=False)


def _changed(array: Any, places: Any, values: Any) -> Any:
    """A copy with other values at some places: whoever holds the array keeps it."""
    copied = array.copy()
    copied[places] = values
    return copied


def groups(nodes: Indices) -> Iterator[tuple[int, Indices]]:
    """Each node that occurs, with the rows that have it, ascending."""
    order = np.argsort(nodes, kind="stable")
    values, first = np.unique(nodes[order], return_index=True)
    for node, start, end in zip(values.tolist(), first, [*first[1:], len(order)], strict=False):
        yield node, order[start:end]
