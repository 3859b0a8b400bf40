"""Which model: one Gaussian process or a forest with one in every leaf, by held-out labels."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from core._types import Floats, Indices, Table
from core.factory import make_kernel, make_operator, make_regression, single_reader
from core.forest import Forest, LeafSettings, TableRows, tree_rule, tune_shared
from core.posterior import one_vs_all
from core.selection.compare import Verdict, compare
from core.settings import Settings
from core.tuning import tune

FOLDS = 5
COMPARED_ROWS = 4000  # at most
TUNED_ROWS = 1000  # that tell the parameters of one model for all


def least_labels(settings: Settings) -> int:
    """Below which trees are too small to differ from one model."""
    return 2 * int(settings.leaf_size)


def choose_model(
    settings: Settings,
    x: Table,
    labels: Indices,
    n_classes: int,
    incumbent: str | None = None,
    on_step: Callable[[], object] = lambda: None,
) -> Verdict:
    """Compare both on (a sample of) the labelled rows, each row predicted by the other folds.

    The measure is the squared error of the means, by which noise and kernels are chosen, too: unlike accuracy it is
    fine enough to tell two good models apart, and unlike the log loss no single sure mistake of a pure leaf decides
    it. The model in use, one Gaussian process at first, stays unless the other is better by two standard errors of
    the paired differences. Parameters are found on the first training part, each model's by its own leave-one-out.
    """
    rows = np.unique(np.linspace(0, len(labels) - 1, COMPARED_ROWS).astype(np.int64))
    x, labels = x[rows], labels[rows]
    fold = np.random.default_rng(0).permutation(len(labels)) % FOLDS
    first = np.flatnonzero(fold != 0)
    contestants: dict[str, _Gp | _Grown] = {}
    for name, kind in (("gp", _Gp), ("forest", _Grown)):
        contestants[name] = kind(settings, x[first], labels[first], n_classes, on_step)
    errors = {name: np.empty(len(labels)) for name in contestants}
    for k in range(FOLDS):
        a, b = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        for name, contestant in contestants.items():
            on_step()
            means = contestant.means(x[a], labels[a], x[b])
            errors[name][b] = ((one_vs_all(labels[b], n_classes) - means) ** 2).sum(axis=1)
    winner, contenders = compare(errors, incumbent)
    return Verdict(winner, "squared error of held-out labels", contenders)


class _Gp:
    """One Gaussian process over all rows, with parameters found on some of the first rows."""

    def __init__(
        self, settings: Settings, x: Table, labels: Indices, n_classes: int, on_step: Callable[[], object]
    ) -> None:
        self._settings, self._n_classes = settings, n_classes
        some = np.unique(np.linspace(0, len(labels) - 1, TUNED_ROWS).astype(np.int64))
        operator = make_operator(settings, x[some], single_reader(settings, x[some]))
        found = tune(make_regression(settings, operator, labels[some], n_classes), "loo", on_step=on_step)
        self._kernel, self._noise = found.kernel, found.noise

    def means(self, x: Table, labels: Indices, held: Table) -> Floats:
        """Of held-out rows, by these."""
        reader = single_reader(self._settings, x)
        operator = make_operator(self._settings, x, reader)
        model = make_regression(self._settings, operator, labels, self._n_classes)
        model.reset(self._kernel, self._noise)
        return model.posterior.means(reader(held))


class _Grown:
    """A forest, with parameters found inside the leaves of the first rows."""

    def __init__(
        self, settings: Settings, x: Table, labels: Indices, n_classes: int, on_step: Callable[[], object]
    ) -> None:
        self._settings, self._n_classes = settings, n_classes
        self._reader = single_reader(settings, x)
        kernel, size = make_kernel(settings, x, self._reader), int(settings.leaf_size)
        self._leaf = LeafSettings(kernel, float(settings.noise), size, settings.max_memory)
        found = tune_shared(self._grow(x, labels), settings, on_step)
        if found is not None:
            self._leaf = replace(self._leaf, kernel=found.kernel, noise=found.noise)

    def means(self, x: Table, labels: Indices, held: Table) -> Floats:
        """Of held-out rows, by these."""
        return self._grow(x, labels).means(held)

    def _grow(self, x: Table, labels: Indices) -> Forest[TableRows]:
        n_trees = int(self._settings.n_trees)
        rows = TableRows(x, self._reader, self._settings.levels)
        forest = Forest(self._leaf, rows, labels, self._n_classes, rule=tree_rule(n_trees))
        forest.grow(n_trees)
        return forest
