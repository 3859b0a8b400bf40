"""A pool and the labels of some of its items with a forest behind it, with the face of `LabelledPool`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from core._types import Floats, Indices
from core.drafts import Drafted, all_or_nothing
from core.evidence import Tuned, tune
from core.forest.forest import groups
from core.forest.ground import Ground, OverGround, TreeAnswers, Votes
from core.forest.leaf import LEAST_ROWS
from core.forest.pool_tree import PoolTree
from core.forest.tree import NODE_ARRAYS, PlainTree, Tree, grow, tree_rule
from core.forest.tuning import LeafRows, LeavesTuned, tune_parts
from core.histograms import RawRows
from core.kernels import Kernel
from core.linalg import AtBound, HistogramOperator, Operator, Predictor
from core.posterior import one_vs_all
from core.posterior.parts import joined_rows
from core.settings import Settings


class LabelledForest(OverGround, Drafted):
    """After each change, mean and variance of all items are those of the mixture of trees, each leaf a fresh fit.

    Trees are grown by `tune` and stay as they are until the next: what is known follows from items, labels, trees and
    hyperparameters, in whatever order labels came. Until there are more labels than a leaf takes there is one leaf, and
    all is as with one model.
    """

    rounds = 0

    def __init__(self, ground: Ground, n_trees: int) -> None:
        super().__init__(ground)
        self.n_trees = n_trees  # that are grown once there are labels enough
        self.grown_at = 0  # labels
        self.plant([Tree.leaf()])

    @classmethod
    def of(cls, settings: Settings, operator: Operator, rows: Any, noise: float, n_classes: int) -> "LabelledForest":
        """Over these rows, which the operator can read; without labels, and to be planted and refreshed."""
        empty = operator.only(np.empty(0, dtype=np.int64))
        ground = Ground(empty, rows, noise, n_classes, int(settings.leaf_size), settings.max_memory)
        return cls(ground, int(settings.n_trees))

    @classmethod
    def begin(
        cls,
        settings: Settings,
        operator: Operator,
        rows: Any,
        noise: float,
        n_classes: int,
        trees: Sequence[PlainTree] = (),
        grown_at: int = 0,
    ) -> "LabelledForest":
        """Without labels, with trees that were grown before, if there were any."""
        labelled = cls.of(settings, operator, rows, noise, n_classes)
        if trees:
            labelled.plant([Tree.of(tree) for tree in trees])
        labelled.grown_at = grown_at
        labelled.refresh()
        return labelled

    def draft(self) -> Self:
        """A twin (see core.drafts)."""
        twin = super().draft()
        twin.ground = self.ground.draft()
        twin.trees = [tree.draft(twin.ground) for tree in self.trees]
        return twin

    def plant(self, trees: Sequence[Tree], answers: Sequence[TreeAnswers | None] | None = None) -> None:
        """Other trees for the same items and labels."""
        share = self.ground.max_memory / len(trees)
        known = answers or [None] * len(trees)
        self.trees = [PoolTree(tree, self.ground, share, one) for tree, one in zip(trees, known, strict=True)]

    @property
    def is_one_leaf(self) -> bool:
        """Whether all trees are still the same leaf."""
        return len(self.trees) == 1 and len(self.trees[0].tree.feature) == 1

    @property
    def is_outgrown(self) -> bool:
        """Whether an impure leaf has more than twice the labels it should, and so many are new that it may be split."""
        ground = self.ground
        if len(ground.learnt) < self.grown_at + ground.leaf_size or len(np.unique(ground.numbers)) < 2:
            return False
        return any((tree.sizes()[tree.pure() < 0] > 2 * ground.leaf_size).any() for tree in self.trees)

    @property
    def votes(self) -> Votes | None:
        """What the trees say one by one, where they are more than one leaf."""
        return None if self.is_one_leaf else Votes(tuple(tree.answers for tree in self.trees), self.noise)

    @property
    def name(self) -> str:
        """Of the posterior in use."""
        return self.trees[0].model(0).name if self.is_one_leaf else "forest"

    @property
    def predictor(self) -> Predictor:
        """The means as a function."""
        return self.trees[0].model(0).posterior.predictor if self.is_one_leaf else _Means(self.draft())

    @property
    def grown(self) -> tuple[PlainTree, ...]:
        """Trees that `begin` takes; none while they are one leaf."""
        return () if self.is_one_leaf else tuple(tree.tree.plain for tree in self.trees)

    @all_or_nothing
    def append(self, query: Any) -> None:
        """More items, with levels for their values where there is room."""
        ground, operator = self.ground, self.ground.operator
        if isinstance(operator, HistogramOperator) and isinstance(query, RawRows):
            query = operator.learn_levels(query)
            for tree in self.trees:
                tree.follow_levels(operator.levels)
        ground.rows = joined_rows(ground.rows, [query])
        first = len(self.variance)
        for tree in self.trees:
            tree.append(query)
        self._see(np.arange(first, len(self)))

    @all_or_nothing
    def learn(self, items: Indices, numbers: Indices, doubts: Floats) -> None:
        """Items without a label get these class numbers; `doubts` multiply their noise."""
        self._note(items, numbers, doubts)
        self._follow(items)

    @all_or_nothing
    def learn_unseen(self, items: Indices, numbers: Indices, doubts: Floats) -> None:
        """The same without the pool: refresh it when all is known."""
        self._note(items, numbers, doubts)
        self.refit()

    @all_or_nothing
    def forget(self, item: int) -> None:
        """An item loses its label."""
        index, ground = self.learnt.index(item), self.ground
        ground.learnt = [other for other in ground.learnt if other != item]
        ground.numbers, ground.factors = np.delete(ground.numbers, index), np.delete(ground.factors, index)
        self._follow(np.array([item]))

    @all_or_nothing
    def relabel(self, item: int, number: int) -> None:
        """A labelled item gets another class number."""
        index = self.learnt.index(item)
        numbers = self.numbers.copy()
        numbers[index] = number
        self.ground.numbers = numbers
        self._follow(np.array([item]))

    @all_or_nothing
    def renumber(self, renumber: Indices, n_classes: int) -> None:
        """Old classes have these numbers from now on: classes come or are merged."""
        self.ground.numbers, self.ground.n_classes = renumber[self.numbers], n_classes
        for tree in self.trees:
            tree.retarget()
        self._see()

    @all_or_nothing
    def tune(self, settings: Settings, on_step: Callable[[], object]) -> tuple[AtBound, ...]:
        """Grow trees where there are labels enough, find hyperparameters by leave-one-out, and use them.

        Searches start from the settings, too; what ended at a bound.
        """
        found: Tuned | LeavesTuned | None
        self._grow()
        if self.is_one_leaf:
            model = self.trees[0].model(0)
            given, weights = settings.untuned(model.operator), settings.tune_weights
            found = tune(model, "loo", settings=given, weights=weights, on_step=on_step)
        else:
            found = tune_parts(self._parts(), (self.operator.kernel, self.noise), settings, on_step)
        if found is None:
            self.refresh()
            return ()
        self.reset(found.kernel, found.noise)
        return found.at_bounds

    def _grow(self) -> None:
        """Trees for the labels of today."""
        ground, self.grown_at = self.ground, len(self.learnt)
        if self.grown_at <= ground.leaf_size:
            self.plant([Tree.leaf()])
            return
        x = ground.table(self.rows(np.array(self.learnt)))
        rule = tree_rule(self.n_trees)
        self.plant([grow(x, self.numbers, ground.leaf_size, rule, seed) for seed in range(self.n_trees)])

    def _parts(self) -> Iterator[LeafRows]:
        """Rows of impure leaves, in an order that has nothing to do with them."""
        leaves = [(tree, node) for tree in self.trees for node in np.flatnonzero(tree.sizes() >= LEAST_ROWS).tolist()]
        for i in np.random.default_rng(0).permutation(len(leaves)):
            tree, node = leaves[i]
            places = tree.members(node)
            numbers = self.numbers[places]
            if len(np.unique(numbers)) > 1:
                operator = self.operator.only(places[:0])
                operator.append(self.rows(np.array(self.learnt)[places]))
                yield LeafRows(operator, one_vs_all(numbers, self.ground.n_classes), self.factors[places])

    @all_or_nothing
    def reset(self, kernel: Kernel, noise: float) -> None:
        """Another kernel and noise for the same labels and trees."""
        self.ground.operator, self.ground.noise = self.operator.with_kernel(kernel), noise
        self.refit()
        self.refresh()

    @all_or_nothing
    def refit(self) -> None:
        """Solve from scratch, where it is needed; the pool is as it was."""
        for tree in self.trees:
            tree.forget_models()

    @all_or_nothing
    def refresh(self) -> None:
        """Mean and variance of all items from scratch."""
        for tree in self.trees:
            tree.refresh()
        self._see()

    @all_or_nothing
    def settle(self) -> None:
        """After many labels that were not looked at: leaves that are far too large are not solved, but split."""
        if self.is_outgrown:
            self._grow()
        self.refresh()

    def predictive(self, query: Any) -> tuple[Floats, Floats, Floats | None]:
        """Means, variances and probabilities of rows that need not be items."""
        every = np.arange(len(query))
        votes = Votes(tuple(tree.outside(query) for tree in self.trees), self.noise)
        return *votes.moments(every), None if self.is_one_leaf else votes.probabilities(every)

    def moments(self, query: Any) -> tuple[Floats, Floats]:
        """Means (rows x M) and variances (rows) of rows that need not be items."""
        return self.predictive(query)[:2]

    def means(self, query: Any) -> Floats:
        """Of rows that need not be items, rows x M."""
        if self.is_one_leaf:
            return self.trees[0].model(0).posterior.means(query)
        return self.moments(query)[0]

    def residual(self) -> float:
        """How exact the solutions are that are there."""
        models = (known.model for tree in self.trees for known in tree.models.values())
        return max((model.posterior.residual() for model in models), default=0.0)

    def covariance(self, rows: Indices, columns: Indices) -> Floats:
        """Posterior covariance of items: inside the leaves they share, and of what the trees do not agree on."""
        total = self._average(rows, columns, lambda tree, node, j: tree.model(node).posterior.covariance(self.rows(j)))
        if self.is_one_leaf:
            return total
        means = [np.stack([tree.answers.means(items) for tree in self.trees]) for items in (rows, columns)]
        a, b = (part - part.mean(axis=0) for part in means)
        return np.asarray(total + np.einsum("tam,tbm->ab", a, b, optimize=True) / (a.shape[0] * max(a.shape[2], 1)))

    def kernel(self, rows: Indices, columns: Indices) -> Floats:
        """Prior covariance of items, rows x columns; those that share no leaf are independent."""
        operator = self.operator
        return self._average(rows, columns, lambda _, __, j: operator.difference(self.rows(j), np.zeros((0, len(j)))))

    def _average(
        self, rows: Indices, columns: Indices, function: Callable[[PoolTree, int, Indices], Predictor]
    ) -> Floats:
        """A function of items in the same leaf, zero elsewhere, averaged over the trees."""
        total = np.zeros((len(rows), len(columns)))
        for tree in self.trees:
            at, to = tree.answers.nodes[rows], dict(groups(tree.answers.nodes[columns]))
            for node, i in groups(at):
                if node in to:
                    total[np.ix_(i, to[node])] += function(tree, node, columns[to[node]])(self.rows(rows[i]))
        return np.asarray(total / len(self.trees))

    def keepsakes(self, *, warm: bool) -> dict[str, NDArray[Any]]:  # noqa: ARG002
        """Plain arrays of all that the labels and hyperparameters do not tell."""
        trees = [tree.tree for tree in self.trees]
        return {
            "tree_sizes": np.array([len(tree.feature) for tree in trees]),
            **{f"tree_{name}": np.concatenate([getattr(tree, name) for tree in trees]) for name in NODE_ARRAYS},
            "grown_at": np.array(self.grown_at),
            **{
                f"tree_{name}": np.stack([getattr(tree.answers, name) for tree in self.trees])
                for name in ("nodes", "mean", "variance")
            },
        }

    @all_or_nothing
    def take_up(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Be, from a beginning over all items, what these arrays tell (see core.snapshot)."""
        ground = self.ground
        ground.learnt, ground.numbers, ground.factors = arrays["learnt"].tolist(), arrays["labels"], arrays["factors"]
        self.grown_at = int(arrays["grown_at"])
        ends = np.cumsum(arrays["tree_sizes"])[:-1]
        parts = zip(*(np.split(arrays[f"tree_{name}"], ends) for name in NODE_ARRAYS), strict=True)
        known = zip(arrays["tree_nodes"], arrays["tree_mean"], arrays["tree_variance"], strict=True)
        trees = [Tree(*part) for part in parts]
        unknown = [np.full(len(tree.feature), -1) for tree in trees]
        self.plant(trees, [TreeAnswers(*one, pure) for one, pure in zip(known, unknown, strict=True)])
        for tree in self.trees:
            tree.answers = replace(tree.answers, pure=tree.pure())
            for node in np.unique(tree.answers.nodes).tolist():
                tree.model(node)
        self.mean, self.variance = arrays["mean"], arrays["variance"]

    def _note(self, items: Indices, numbers: Indices, doubts: Floats) -> None:
        ground = self.ground
        ground.learnt = ground.learnt + items.tolist()
        ground.numbers = np.concatenate([ground.numbers, numbers])
        ground.factors = np.concatenate([ground.factors, doubts])

    def _follow(self, items: Indices) -> None:
        changed = np.zeros(len(self), dtype=bool)
        for tree in self.trees:
            changed[tree.follow(items)] = True
        self._see(np.flatnonzero(changed))

    def _see(self, items: Indices | None = None) -> None:
        """Mean and variance of the mixture, of these items or of all."""
        first = self.trees[0].answers
        if self.is_one_leaf:
            self.mean, self.variance = first.mean, first.variance
            return
        every = items is None or self.mean.shape[1:] != first.mean.shape[1:]
        some = np.arange(len(self)) if every or items is None else items
        mean, variance = Votes(tuple(tree.answers for tree in self.trees), self.noise).moments(some)
        if every:
            self.mean, self.variance = mean, variance
            return
        # New arrays, not changed ones: whoever holds the last state keeps it.
        before = len(self.variance)
        self.mean = np.concatenate([self.mean, np.zeros((len(self) - before, mean.shape[1]))])
        self.variance = np.concatenate([self.variance, np.zeros(len(self) - before)])
        self.mean[some], self.variance[some] = mean, variance


class _Means:
    """The means of a forest as a function, which later changes do not touch."""

    def __init__(self, forest: LabelledForest) -> None:
        self._forest = forest  # a draft that nobody else has

    def __call__(self, query: Any, *, quantised: bool = False) -> Floats:  # noqa: ARG002
        return self._forest.means(query)
