"""A forest over a pool: what each tree says of all items, and the labels of some of them."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from core._types import Arrays, Floats, Indices
from core.classes import ClassTree
from core.drafts import Drafted, all_or_nothing
from core.factory import untuned
from core.forest import Forest, LeafSettings, Tree, dump_trees, groups, load_trees, tree_rule, tune_shared
from core.kernels import Kernel
from core.linalg import AtBound, HistogramOperator, Operator, Predictor
from core.models.base import ItemPredictions, LeftOut, ModelName, MomentPredictions
from core.models.forest_items import ItemRows
from core.models.forest_state import ForestState
from core.models.forest_votes import TreePredictions, Votes
from core.models.gaussian import GaussianPool
from core.models.parameters import Parameters, by_name
from core.models.state import PoolState
from core.posterior import LocalParts, Part, Parts, PoolPosterior
from core.posterior.base import Variances
from core.posterior.parts import concatenate_parts, means_of, rows_of
from core.probabilities import best_class, class_probabilities, error_probabilities, most_probable
from core.rows import Rows
from core.settings import Settings
from core.tuning import raise_noise, tune
from core.variance import LastBounds, PriorVariance, VarianceName, variance_by, variances_of


class ForestPool(Drafted):
    """After each change, mean and variance of all items are those of the mixture of trees, each leaf a fresh fit.

    What each tree says of all items is kept, and a label changes what its leaves say of their own items. Trees are
    grown by `tune` and stay as they are until the next: what is known follows from items, labels, trees and
    hyperparameters, in whatever order labels came. Until there are more labels than a leaf takes there is one leaf, and
    all is as with one model.
    """

    kind: ModelName = "forest"
    rounds = 0
    over_parts = None  # its pool is in one place

    def __init__(self, forest: Forest[ItemRows], n_trees: int) -> None:
        self.forest = forest
        self.n_trees = n_trees  # that are grown once there are labels enough
        self._bounds = LastBounds()
        self.labelled_items: list[int] = []  # items in the order their labels came
        self.grown_at = 0  # labels
        self.by_tree: tuple[TreePredictions, ...] = ()  # of each tree
        self.mean, self.variance = np.zeros((0, forest.n_classes)), np.zeros(0)

    @classmethod
    def _over(cls, settings: Settings, operator: Operator, rows: Rows, noise: float, n_classes: int) -> "ForestPool":
        """Over these rows, which the operator can read; without labels, and to be refreshed."""
        items, n_trees = ItemRows(operator, rows, settings.max_memory), int(settings.n_trees)
        leaf = LeafSettings(operator.kernel, noise, int(settings.leaf_size), settings.max_memory, every_class=True)
        return cls(Forest(leaf, items, np.full(len(items), -1), n_classes, rule=tree_rule(n_trees)), n_trees)

    @classmethod
    def begin(
        cls,
        settings: Settings,
        operator: Operator,
        parts: Parts,
        noises: Sequence[float],
        tree: ClassTree,
        parameters: Parameters,
    ) -> "ForestPool":
        """Without labels, with trees that were grown before, if there were any."""
        pool = cls._over(settings, operator, rows_of(parts), noises[0], tree.n_classes)
        if parameters.trees:
            pool.forest.replace_trees([Tree.of(plain) for plain in parameters.trees])
        pool.grown_at = parameters.grown_at
        pool._route()
        pool.refresh()
        return pool

    @classmethod
    def load(cls, settings: Settings, operator: Operator, rows: Rows, tree: ClassTree, arrays: Arrays) -> "ForestPool":
        """From what was dumped; `operator` and `rows` are those of all items. Models are solved from scratch."""
        pool = cls._over(settings, operator, rows, float(arrays["theta"][-1]), tree.n_classes)
        pool._learn(arrays["learnt"], arrays["labels"], arrays["factors"])
        pool.grown_at = int(arrays["grown_at"])
        pool.forest.replace_trees(load_trees(arrays, "tree_"), pool._labelled)
        known = zip(arrays["tree_nodes"], arrays["tree_mean"], arrays["tree_variance"], strict=True)
        pool.by_tree = tuple(TreePredictions(*one, pool._pure(t)) for t, one in enumerate(known))
        for t, answers in enumerate(pool.by_tree):
            for node in np.unique(answers.nodes).tolist():
                pool.forest.model(t, node)
        pool.mean, pool.variance = arrays["mean"], arrays["variance"]
        return pool

    def draft(self) -> Self:
        """A twin (see core.drafts)."""
        twin = super().draft()
        twin.forest, twin.labelled_items = self.forest.draft(), list(self.labelled_items)
        return twin

    def __len__(self) -> int:
        return len(self.forest.rows)

    @property
    def numbers(self) -> Indices:
        """The class number of each labelled item."""
        return self.forest.labels[self._labelled]

    @property
    def noise_factors(self) -> Floats:
        """What multiplies the noise of each label, n."""
        return self.forest.noise_factors_of(self._labelled)

    @property
    def labels(self) -> Indices:
        """The class number of each item, -1 without a label."""
        return self.forest.labels.copy()

    @property
    def noise(self) -> float:
        """Variance of the noise on a target."""
        return self.forest.settings.noise

    @property
    def noises(self) -> Floats:
        """The variance of the noise on each item's label, or on one to come."""
        return self.noise * self.forest.noise_factors_of(np.arange(len(self)))

    @property
    def all_rows(self) -> Rows:
        """All items as encoded rows."""
        return self.forest.rows.take()

    @property
    def operator(self) -> Operator:
        """The kernel, without rows."""
        return self.forest.rows.empty

    @property
    def hyperparameters(self) -> dict[str, float]:
        """Kernel parameters and noise in use, by name."""
        return by_name(self.operator.kernel, self.noise)

    def rows(self, items: Indices) -> Rows:
        """These items as encoded rows."""
        return self.forest.rows.take(items)

    @property
    def is_outgrown(self) -> bool:
        """Whether an impure leaf has more than twice the labels it should, and so many are new that it may be split."""
        size = self.forest.settings.leaf_size
        if len(self.labelled_items) < self.grown_at + size or len(np.unique(self.numbers)) < 2:
            return False
        leaves = (leaf for leaves in self.forest.leaves for leaf in leaves.values())
        return any(leaf.pure is None and len(leaf.members) > 2 * size for leaf in leaves)

    @property
    def parts(self) -> LocalParts:
        """All items with mean and variance."""
        return LocalParts(Part(self.all_rows, self.mean, self.variance))

    @property
    def item_predictions(self) -> ItemPredictions:
        """What readers see of the items."""
        if self.forest.is_one_leaf:
            return MomentPredictions(self.parts, self.noise, "gaussian")
        return ForestPredictions(self.parts, self._votes)

    @property
    def parameters(self) -> Parameters:
        """What training found; no trees while they are one leaf."""
        trees = () if self.forest.is_one_leaf else tuple(tree.plain for tree in self.forest.trees)
        return Parameters(theta=tuple(self.hyperparameters.values()), trees=trees, grown_at=self.grown_at)

    @property
    def solver(self) -> str:
        """Name of the posterior in use."""
        return self.forest.model(0, 0).regression.name if self.forest.is_one_leaf else "forest"

    @property
    def predictor(self) -> Predictor:
        """The means as a function."""
        if self.forest.is_one_leaf:
            return self.forest.model(0, 0).regression.posterior.predictor
        return _Means(self.forest.draft())

    @all_or_nothing
    def append(self, rows: Rows) -> None:
        """More items, with levels for their values where there is room."""
        forest, operator = self.forest, self.operator
        if isinstance(operator, HistogramOperator):
            rows = operator.learn_levels(rows)
            for place, known in forest.models.items():
                regression = known.regression.draft()
                regression.follow_levels(operator.levels)
                forest.models.replace(place, replace(known, regression=regression))
        first = len(self)
        forest.append(rows)
        self.by_tree = tuple(self._with_more(t, rows) for t in range(len(self.by_tree)))
        self._mix(np.arange(first, len(self)))

    @all_or_nothing
    def learn(self, items: Indices, numbers: Indices, noise_factors: Floats, *, refresh: bool = True) -> None:
        """Items without a label get these class numbers; `noise_factors` multiply their noise.

        Without `refresh` the pool is left behind until `catch_up`.
        """
        self._learn(items, numbers, noise_factors)
        if refresh:
            self._follow(items)
        else:
            self.refit()

    @all_or_nothing
    def forget(self, item: int) -> None:
        """An item loses its label."""
        self.labelled_items.remove(item)
        self.forest.forget(np.array([item]))
        self._follow(np.array([item]))

    @all_or_nothing
    def relabel(self, item: int, number: int) -> None:
        """A labelled item gets another class number."""
        self.forest.relabel(np.array([item]), np.array([number]))
        self._follow(np.array([item]))

    @all_or_nothing
    def renumber(self, numbers: Indices, tree: ClassTree) -> None:
        """Old classes have these numbers from now on: classes come or are merged."""
        self.forest.renumber(numbers, tree.n_classes)
        same = [place for place, _ in self.forest.models.items()]  # models that know the same rows as before
        self.by_tree = tuple(
            self._computed(t, frozenset(node for tree, node in same if tree == t)) for t in range(len(self.by_tree))
        )
        self._mix()

    @all_or_nothing
    def tune(
        self,
        settings: Settings,
        on_step: Callable[[], object],
        drawn: Collection[int] = (),  # noqa: ARG002
    ) -> tuple[AtBound, ...]:
        """Grow trees where there are labels enough, find hyperparameters by leave-one-out, and use them.

        Searches start from the settings, too; what ended at a bound.
        """
        self._grow()
        if self.forest.is_one_leaf:
            return self._tune_one_leaf(settings, on_step)
        found = tune_shared(self.forest, settings, on_step)
        if found is None:
            self.refresh()
            return ()
        self.reset(found.kernel, found.noise)
        return found.at_bounds

    def _tune_one_leaf(self, settings: Settings, on_step: Callable[[], object]) -> tuple[AtBound, ...]:
        """As for one Gaussian process, which it is."""
        model = self.forest.model(0, 0).regression.draft()
        given, weights = untuned(settings, model.operator), settings.tune_weights
        found = tune(model, "loo", settings=given, weights=weights, on_step=on_step)
        model.reset(found.kernel, found.noise)
        raise_noise(model, on_step)
        self.reset(model.operator.kernel, model.noise)
        return found.at_bounds

    def _grow(self) -> None:
        """Trees for the labels of today."""
        self.grown_at = len(self.labelled_items)
        if self.grown_at <= self.forest.settings.leaf_size:
            self.forest.replace_trees([Tree.leaf()], self._labelled)
        else:
            self.forest.grow(self.n_trees, self._labelled)
        self._route()

    @all_or_nothing
    def reset(self, kernel: Kernel, noise: float) -> None:
        """Another kernel and noise for the same labels and trees."""
        self.forest.rows.empty = self.operator.with_kernel(kernel)
        self.forest.reset(kernel, noise)
        self.refresh()

    @all_or_nothing
    def refit(self) -> None:
        """Solve from scratch, where it is needed; the pool is as it was."""
        self.forest.models.clear()

    @all_or_nothing
    def refresh(self) -> None:
        """Mean and variance of all items from scratch."""
        self.by_tree = tuple(self._computed(t) for t in range(len(self.by_tree)))
        self._mix()

    @all_or_nothing
    def catch_up(self) -> None:
        """Refresh after labels that were learnt without: leaves that are far too large are not solved, but split."""
        if self.is_outgrown:
            self._grow()
        self.refresh()

    def predict(self, rows: Rows) -> Indices:
        """The most probable class of rows that need not be items, rows."""
        if self.forest.is_one_leaf:
            return best_class(self.means(rows))
        means, _, probabilities = self.predictive(rows)
        return most_probable(probabilities, means)

    def predictive(self, rows: Rows, variance: VarianceName = "exact") -> tuple[Floats, Floats, Floats]:
        """Means, variances and probabilities of rows that need not be items."""
        if variance != "exact":
            means, variances = self.means(rows), self.variance_by(variance)(rows)
            return means, variances, class_probabilities("gaussian", means, variances + self.noise)
        found = self.forest.posterior(rows)
        return found.mean, found.variance, found.probabilities

    @property
    def variances(self) -> tuple[VarianceName, ...]:
        """Which variances it has."""
        return variances_of(self.operator) if self.forest.is_one_leaf else ("exact",)

    def variance_by(self, name: VarianceName) -> Variances:
        """The variance of rows that need not be items; while the forest is one leaf, or an upper bound of it."""
        if name == "exact":
            return lambda rows: self.moments(rows)[1]
        if not self.forest.is_one_leaf:
            raise ValueError(
                f"variance {name} is for one Gaussian process: a forest that has grown has exact variances alone, "
                "which cost little, as its leaves are small"
            )
        return variance_by(self.forest.model(0, 0).regression.posterior, self._bounds, name)

    @property
    def prior(self) -> PriorVariance:
        """k(x, x) of any rows less the bias."""
        return PriorVariance(self.operator)

    def moments(self, rows: Rows) -> tuple[Floats, Floats]:
        """Means (rows x M) and variances (rows) of rows that need not be items."""
        return self.predictive(rows)[:2]

    def means(self, rows: Rows) -> Floats:
        """Of rows that need not be items, rows x M."""
        return self.forest.means(rows)

    def residual(self) -> float:
        """How exact the solutions are that are there."""
        models = (known.regression for _, known in self.forest.models.items())
        return max((model.posterior.residual() for model in models), default=0.0)

    def covariance(self, rows: Indices, columns: Indices) -> Floats:
        """Posterior covariance of items: inside the leaves they share, and of what the trees do not agree on."""
        return self.forest.covariance(self.all_rows, self._nodes, rows, columns, self._votes.means)

    def kernel(self, rows: Indices, columns: Indices) -> Floats:
        """Prior covariance of items, rows x columns; those that share no leaf are independent."""
        return self.forest.kernel(self.all_rows, self._nodes, rows, columns)

    def state(self, items: Indices, reference: Indices) -> PoolState:
        """What query strategies look at, for some items; `reference` stands for the whole pool."""
        mean, variance, noise = self.mean[items], self.variance[items], self.noise
        votes, views = self._votes, (self.covariance, self.kernel, reference, self._labelled)
        around = votes.posteriors(reference)
        if self.forest.is_one_leaf:
            return PoolState(mean, variance, noise, items, *views, around=around, own=self._own)
        trees = votes.probabilities, votes.posteriors, self._covariances
        return ForestState(mean, variance, noise, items, *views, *trees, around=around, own=self._own)

    def _own(self, items: Indices) -> Floats:
        return self.prior(self.rows(items))

    def _covariances(self, rows: Indices, columns: Indices) -> Floats:
        return self.forest.covariances(self.all_rows, self._nodes, rows, columns)

    def dump(self, *, warm: bool) -> dict[str, NDArray[Any]]:  # noqa: ARG002
        """Plain arrays of what rows, labels and hyperparameters do not tell: the trees and what they say."""
        return {
            **dump_trees(self.forest.trees, "tree_"),
            "grown_at": np.array(self.grown_at),
            **{
                f"tree_{name}": np.stack([getattr(answers, name) for answers in self.by_tree])
                for name in ("nodes", "mean", "variance")
            },
        }

    @property
    def _labelled(self) -> Indices:
        return np.array(self.labelled_items, dtype=np.int64)

    @property
    def _votes(self) -> Votes:
        return Votes(self.by_tree, self.noise)

    @property
    def _nodes(self) -> list[Indices]:
        return [answers.nodes for answers in self.by_tree]

    def _learn(self, items: Indices, numbers: Indices, noise_factors: Floats) -> None:
        self.labelled_items = self.labelled_items + items.tolist()
        self.forest.learn(items, numbers, noise_factors)

    def _pure(self, t: int) -> Indices:
        """Of each node of a tree: the class that it says with certainty, or -1."""
        pure = np.full(len(self.forest.trees[t].feature), -1)
        for node, leaf in self.forest.leaves[t].items():
            pure[node] = -1 if leaf.pure is None else leaf.pure
        return pure

    def _route(self) -> None:
        """The leaves of all items in trees that are new; what these say is to be refreshed."""
        forest, m = self.forest, len(self)
        unknown = np.zeros((m, forest.n_classes)), np.zeros(m)
        self.by_tree = tuple(
            TreePredictions(forest.rows.route(tree, self.all_rows), *unknown, self._pure(t))
            for t, tree in enumerate(forest.trees)
        )

    def _leaves(self, t: int) -> Iterator[tuple[int, Indices, Rows]]:
        """Each leaf of a tree that has items, with their numbers and the items as encoded rows."""
        if self._has_one_leaf(t):
            yield 0, np.arange(len(self)), self.all_rows
            return
        for node, items in groups(self.by_tree[t].nodes):
            yield node, items, self.rows(items)

    def _has_one_leaf(self, t: int) -> bool:
        return len(self.forest.trees[t].feature) == 1

    def _computed(self, t: int, known: frozenset[int] = frozenset()) -> TreePredictions:
        """What a tree says of all items by models that are there or solved now; `known` leaves keep their variances."""
        old = self.by_tree[t]
        mean, variance = np.zeros((len(self), self.forest.n_classes)), old.variance.copy()
        for node, items, rows in self._leaves(t):
            model = self.forest.model(t, node)
            mean[items] = model.means(rows, self.forest.n_classes)
            if node not in known:
                variance[items] = model.variance(rows)
        return TreePredictions(old.nodes, mean, variance, self._pure(t))

    def _with_more(self, t: int, rows: Rows) -> TreePredictions:
        """What a tree says of all items, the last of which are new."""
        old, n_classes = self.by_tree[t], self.forest.n_classes
        nodes = self.forest.rows.route(self.forest.trees[t], rows)
        mean, variance = np.zeros((len(nodes), n_classes)), np.zeros(len(nodes))
        for node, places in groups(nodes):
            model, some = self.forest.model(t, node), rows[places]
            mean[places], variance[places] = model.means(some, n_classes), model.variance(some)
        return TreePredictions(
            np.concatenate([old.nodes, nodes]),
            np.concatenate([old.mean, mean]),
            np.concatenate([old.variance, variance]),
            old.pure,
        )

    def _follow(self, items: Indices) -> None:
        """The labels of these items have come, gone or changed: so do the answers of their leaves."""
        changed = np.zeros(len(self), dtype=bool)
        answers = []
        for t in range(len(self.by_tree)):
            answers.append(self._followed(t, items))
            touched = np.zeros(len(answers[t].pure), dtype=bool)
            touched[answers[t].nodes[items]] = True
            changed |= touched[answers[t].nodes]
        self.by_tree = tuple(answers)
        self._mix(np.flatnonzero(changed))

    def _followed(self, t: int, items: Indices) -> TreePredictions:
        """What a tree says of all items, once the leaves of some have followed their labels."""
        old = self.by_tree[t]
        if self._has_one_leaf(t):
            leaf = self._followed_leaf(t, 0, np.arange(len(self)), Part(self.all_rows, old.mean, old.variance))
            return TreePredictions(old.nodes, leaf.mean, leaf.variance, self._pure(t))
        # New arrays, not changed ones: whoever holds the last answers keeps them.
        mean, variance = old.mean.copy(), old.variance.copy()
        for node in np.unique(old.nodes[items]).tolist():
            inside = np.flatnonzero(old.nodes == node)
            leaf = self._followed_leaf(t, node, inside, Part(self.rows(inside), mean[inside], variance[inside]))
            mean[inside], variance[inside] = leaf.mean, leaf.variance
        return TreePredictions(old.nodes, mean, variance, self._pure(t))

    def _followed_leaf(self, t: int, node: int, inside: Indices, part: Part) -> PoolPosterior:
        """The items of a leaf once its model has followed their labels; `inside` are their numbers, ascending."""
        forest = self.forest
        expected = forest.leaves[t][node].expected(forest.settings)
        known = forest.models.get((t, node))
        gone = expected[:0] if known is None else known.rows[~np.isin(known.rows, expected)]
        if known is None or len(gone) > 1:
            forest.models.drop((t, node))
            return PoolPosterior(forest.model(t, node).regression.posterior, LocalParts.of(part.rows))
        leaf = GaussianPool(
            known.regression.draft(),
            PoolPosterior.of(LocalParts(part)),
            np.searchsorted(inside, known.rows).tolist(),
        )
        for item in np.searchsorted(inside, gone).tolist():
            leaf.forget(item)
        labels = forest.labels[inside[leaf.labelled_items]]
        for i in np.flatnonzero(leaf.numbers != labels).tolist():
            leaf.relabel(leaf.labelled_items[i], int(labels[i]))
        new = expected[~np.isin(expected, known.rows)]
        if len(new):
            leaf.learn(np.searchsorted(inside, new), forest.labels[new], forest.noise_factors_of(new))
        forest.keep(t, node, leaf.model)
        return leaf.pool

    def _mix(self, items: Indices | None = None) -> None:
        """Mean and variance of the mixture, of these items or of all."""
        first = self.by_tree[0]
        if self.forest.is_one_leaf:
            self.mean, self.variance = first.mean, first.variance
            return
        every = items is None or self.mean.shape[1:] != first.mean.shape[1:]
        some = np.arange(len(self)) if every or items is None else items
        found = self._votes.mixture(some, "moments")
        if every:
            self.mean, self.variance = found.mean, found.variance
            return
        # New arrays, not changed ones: whoever holds the last state keeps it.
        more = len(self) - len(self.variance)
        self.mean = np.concatenate([self.mean, np.zeros((more, self.mean.shape[1]))])
        self.variance = np.concatenate([self.variance, np.zeros(more)])
        self.mean[some], self.variance[some] = found.mean, found.variance


@dataclass(frozen=True, eq=False)
class ForestPredictions:
    """The answers of a forest of more than one leaf: probabilities are averaged over the trees."""

    parts: Parts  # mean and variance of the mixture
    votes: Votes  # the trees one by one

    def probabilities(self, items: Indices | None = None) -> Floats:
        """Class probabilities of some items, or of all; items x M."""
        return self.votes.probabilities(np.arange(len(self.parts)) if items is None else items)

    def predicted(self, items: Indices | None = None) -> Indices:
        """The most probable class of some items, or of all."""
        mean = concatenate_parts(self.parts.collect(means_of)) if items is None else self.parts.take(items).mean
        return most_probable(self.probabilities(items), mean)

    def uncertainty(self) -> Floats:
        """The probability that the predicted class is wrong, of all items."""
        return error_probabilities(self.probabilities())

    def left_out(self, items: Indices, labels: Indices, noises: Floats, _: ClassTree) -> LeftOut:
        """Each label predicted by the others."""
        return LeftOut(items, labels, *self.votes.left_out(items, labels, noises))


class _Means:
    """The means of a forest as a function, which later changes do not touch."""

    def __init__(self, forest: Forest[ItemRows]) -> None:
        self._forest = forest  # a draft that nobody else has

    def __call__(self, query: Rows, *, quantised: bool = False) -> Floats:  # noqa: ARG002
        return self._forest.means(query)
