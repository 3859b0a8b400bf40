"""Trees over the same rows, a Gaussian process in every impure leaf, and their average (paper 004, section 4)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from core._types import Floats, Indices, Table
from core.drafts import Drafted, all_or_nothing
from core.forest.leaf import Answer, Leaf, Need, Theory
from core.forest.rows import RowStore
from core.forest.tree import Tree, TreeRule, grow
from core.kernels import Kernel

Place = tuple[int, int]  # tree and node
BLOCK_ROWS = 1 << 16


@dataclass(frozen=True, eq=False)
class Mixture:
    """The posterior of some rows, averaged over the trees: each tree is as likely as the others.

    The variance is that of the mixture: what the leaves do not know, and what the trees do not agree on.
    """

    mean: Floats  # rows x M
    variance: Floats  # rows
    probabilities: Floats  # rows x M


class Forest(Drafted):
    """Follows its rows: labels are routed to their leaves, and each leaf is then the fit of its own rows.

    A leaf of more than 2 L rows is split. One tree by rule "best" is the paper's DT-GP.
    """

    def __init__(
        self, theory: Theory, store: RowStore, n_classes: int, trees: list[Tree], rule: TreeRule, seed: int = 0
    ) -> None:
        self.theory = theory
        self.store = store
        self.n_classes = n_classes
        self.trees = trees
        self.rule: TreeRule = rule
        self.seed = seed
        self.leaves: list[dict[int, Leaf]] = []
        for tree in trees:
            nodes = tree.route(store.table)
            leaves = {node: Leaf.of(rows, store) for node, rows in groups(nodes)}
            nobody = np.empty(0, dtype=np.int64)
            self.leaves.append({int(node): leaves.get(int(node)) or Leaf.of(nobody, store) for node in tree.leaves})
        self._built: dict[Place, float] = {}  # bytes of the models that are there, the one used last at the end
        self._held = 0.0

    @classmethod
    def grown(
        cls, theory: Theory, store: RowStore, n_classes: int, n_trees: int, rule: TreeRule, seed: int
    ) -> "Forest":
        """With so many trees grown for these rows."""
        table = store.table
        trees = [grow(table, store.labels, theory.leaf_size, rule, seed + t) for t in range(n_trees)]
        return cls(theory, store, n_classes, trees, rule, seed)

    def draft(self) -> Self:
        """A twin (see core.drafts)."""
        twin = super().draft()
        twin.store, twin._built = self.store.draft(), dict(self._built)
        twin.leaves = [dict(leaves) for leaves in self.leaves]
        return twin

    @all_or_nothing
    def fit(self) -> None:
        """Solve every impure leaf; what memory does not hold keeps its weights and is factored again when needed."""
        for t, leaves in enumerate(self.leaves):
            for node, leaf in leaves.items():
                if leaf.pure is None:
                    leaves[node] = replace(leaf)  # others may have this leaf as it was
                    leaves[node].build(self.store, self.theory)
                    self._note((t, node))

    @all_or_nothing
    def tune_leaves(self) -> None:
        """Hyperparameters of its own for each leaf."""
        for t, leaves in enumerate(self.leaves):
            for node, leaf in leaves.items():
                leaves[node] = leaf.tuned(self.store, self.theory)
                self._note((t, node))

    @all_or_nothing
    def reset(self, kernel: Kernel, noise: float) -> None:
        """Another kernel and noise for all leaves."""
        self.theory = replace(self.theory, kernel=kernel, noise=noise)
        self._change(lambda leaf: Leaf(leaf.members, leaf.classes))

    @property
    def noise(self) -> float:
        """Variance of the noise on a target, over all rows and trees on average."""
        leaves = [leaf for leaves in self.leaves for leaf in leaves.values()]
        sizes = np.array([len(leaf.members) for leaf in leaves], dtype=np.float64)
        noises = np.array([leaf.noise or self.theory.noise for leaf in leaves])
        return float(sizes @ noises / sizes.sum()) if sizes.any() else self.theory.noise

    @all_or_nothing
    def add(self, x: Table, labels: Indices) -> None:
        """Checked rows and their class numbers, each routed to its leaf in each tree; large leaves split."""
        n = len(self.store)
        self.store.append(x, labels)
        for t, tree in enumerate(self.trees):
            for node, rows in groups(tree.route(x)):
                leaf = self.leaves[t][node] = replace(self.leaves[t][node])
                large = len(leaf.members) + len(rows) > max(2 * self.theory.leaf_size, 2 * leaf.tried)
                if large:  # too large to be solved before it is split
                    leaf.model = None
                leaf.learn(n + rows, self.store, self.theory)
                self._note((t, node))
                if large and leaf.pure is None:
                    self._split(t, node)

    @all_or_nothing
    def remove(self, rows: Indices) -> None:
        """Forget rows; the others move up. Leaves that held them are solved again when they are asked."""
        gone = np.zeros(len(self.store), dtype=bool)
        gone[rows] = True
        number = np.cumsum(~gone) - 1
        self.store.remove(rows)
        self._change(lambda leaf: self._without(leaf, gone, number))

    def _without(self, leaf: Leaf, gone: NDArray[np.bool_], number: Indices) -> Leaf:
        kept = number[leaf.members[~gone[leaf.members]]]
        if len(kept) == len(leaf.members):
            return replace(leaf, members=kept)
        return Leaf.of(kept, self.store, leaf.kernel, leaf.noise)

    @all_or_nothing
    def relabel(self, rows: Indices, labels: Indices) -> None:
        """Rows get other class numbers."""
        given = np.zeros(len(self.store), dtype=bool)
        given[rows] = True
        numbers = self.store.labels.copy()
        numbers[rows] = labels
        self.store.labels = numbers
        self._change(
            lambda leaf: (
                Leaf.of(leaf.members, self.store, leaf.kernel, leaf.noise) if given[leaf.members].any() else leaf
            )
        )

    @all_or_nothing
    def renumber(self, renumber: Indices, n_classes: int) -> None:
        """Classes get other numbers, in the same order; there may be more of them."""
        self.n_classes = n_classes
        self.store.labels = renumber[self.store.labels]
        self._change(lambda leaf: replace(leaf, classes=renumber[leaf.classes]))

    def means(self, x: Table) -> Floats:
        """Means of checked rows, averaged over the trees; rows x M. Needs no factor."""
        total = np.zeros((x.shape[0], self.n_classes))
        for t in range(len(self.trees)):
            for rows, answer in self.answers(t, x, "mean"):
                total[rows] += answer.mean
        return total / len(self.trees)

    def probabilities(self, x: Table) -> Floats:
        """Probabilities of the classes of checked rows, averaged over the trees; rows x M."""
        total = np.zeros((x.shape[0], self.n_classes))
        for t in range(len(self.trees)):
            for rows, answer in self.answers(t, x, "probabilities"):
                total[rows] += answer.probabilities
        return total / len(self.trees)

    def posterior(self, x: Table) -> Mixture:
        """Mean, variance and probabilities of checked rows."""
        n, m, trees = x.shape[0], self.n_classes, len(self.trees)
        mean, probabilities = np.zeros((n, m)), np.zeros((n, m))
        within, squares = np.zeros(n), np.zeros(n)
        for t in range(trees):
            for rows, answer in self.answers(t, x, "all"):
                assert answer.variance is not None
                mean[rows] += answer.mean
                probabilities[rows] += answer.probabilities
                within[rows] += answer.variance
                squares[rows] += (answer.mean**2).sum(axis=1)
        mean /= trees
        between = (squares / trees - (mean**2).sum(axis=1)) / max(m, 1)
        return Mixture(mean, within / trees + np.maximum(between, 0.0), probabilities / trees)

    def answers(self, t: int, x: Table, need: Need) -> Iterator[tuple[Indices, Answer]]:
        """What the leaves of one tree say: row numbers and the answer for them, leaf by leaf."""
        for node, rows in groups(self.trees[t].route(x)):
            leaf = self.leaves[t][node]
            for first in range(0, len(rows), BLOCK_ROWS):
                some = rows[first : first + BLOCK_ROWS]
                yield some, leaf.answer(x[some], self.store, self.theory, self.n_classes, need)
            self._note((t, node))

    def _split(self, t: int, node: int) -> None:
        """Grow the tree below a leaf that has become too large, if its rows can be told apart."""
        leaf, size = self.leaves[t][node], self.theory.leaf_size
        x, labels = self.store.take(leaf.members), self.store.labels[leaf.members]
        below = grow(x, labels, size, self.rule, self.seed + t + len(self.trees[t].feature))
        if len(below.feature) == 1:
            leaf.tried = len(leaf.members)
            return
        trees = list(self.trees)
        trees[t] = self.trees[t].split(node, below)
        self.trees = trees
        del self.leaves[t][node]
        self._note((t, node))
        for new, rows in groups(trees[t].route(x)):
            self.leaves[t][new] = Leaf.of(leaf.members[rows], self.store)

    def _change(self, change: Callable[[Leaf], Leaf]) -> None:
        """Put other leaves in the place of all."""
        self.leaves = [{node: change(leaf) for node, leaf in leaves.items()} for leaves in self.leaves]
        for place in list(self._built):
            self._note(place)

    def _note(self, place: Place) -> None:
        """The model at this place was used: others are dropped while all together are too large."""
        t, node = place
        self._held -= self._built.pop(place, 0.0)
        leaf = self.leaves[t].get(node)
        if leaf is None or leaf.model is None:
            return
        self._built[place] = 8.0 * (len(leaf.model.labels) + 32.0) ** 2
        self._held += self._built[place]
        while self._held > self.theory.settings.max_memory and len(self._built) > 1:
            oldest = next(iter(self._built))
            self._held -= self._built.pop(oldest)
            tree, leaf = self.leaves[oldest[0]], self.leaves[oldest[0]][oldest[1]]
            tree[oldest[1]] = leaf.dropped()


def groups(nodes: Indices) -> Iterator[tuple[int, Indices]]:
    """Each node that occurs, with the rows that have it, ascending."""
    order = np.argsort(nodes, kind="stable")
    values, first = np.unique(nodes[order], return_index=True)
    for node, rows in zip(values, np.split(order, first[1:]), strict=True):
        yield int(node), rows
