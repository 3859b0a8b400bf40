"""Hyperparameters that the leaves share: by leave-one-out error inside them, or by validation."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

import numpy as np

from core._types import Floats, Indices, Table
from core.factory import untuned
from core.forest.forest import Forest, R
from core.forest.leaf import MIN_ROWS, LeafSettings
from core.forest.rows import TableRows
from core.forest.tree import TreeRule
from core.kernels import Kernel, RBFKernel
from core.linalg import AtBound, Operator, Units
from core.metrics import log_loss
from core.posterior import one_vs_all
from core.settings import Settings
from core.tuning import (
    Criterion,
    DualCriterion,
    Evaluation,
    Given,
    bounds_met,
    free_parameters,
    in_units,
    simplex_search,
    starts,
)

SAMPLE_ROWS = 4000  # of the leaves that a search looks at
VALIDATION_ROWS = 20_000  # to choose by, at most
SHARE = 0.2  # of the rows, to validate on: Froehlich2012 has 4 for training to 1 for validation
FOLDS = 3  # such shares, one after the other
LEAF_SIZES = (125, 250, 500, 1000, 2000)
GAMMAS = (0.25, 0.5, 1.0, 2.0, 4.0)  # as multiples of where the kernel begins


class LeavesCriterion:
    """Leave-one-out error over some leaves together, weighted by their rows."""

    def __init__(self, parts: list[tuple[Criterion, int]]) -> None:
        self._parts = parts

    def __call__(self, kernel: Kernel, noise: float, *, gradient: bool = False) -> Evaluation:  # noqa: ARG002
        """Evaluate; there is no gradient."""
        found = [(part(kernel, noise), rows) for part, rows in self._parts]
        total = sum(rows for _, rows in found)
        return Evaluation(
            sum(one.value * rows for one, rows in found) / total,
            sum(one.amplitude * rows for one, rows in found) / total,
        )


@dataclass(frozen=True, eq=False)
class LeavesTuned:
    """What a search in the leaves found; `rows` were looked at."""

    kernel: Kernel
    noise: float
    value: float
    evaluations: int
    rows: int
    at_bounds: tuple[AtBound, ...] = ()  # parameters that may be better beyond


class LeafRows(NamedTuple):
    """The rows of a leaf that a search looks at."""

    operator: Operator
    targets: Floats  # rows x M
    noise_factors: Floats  # n


def tune_shared(
    forest: Forest[R], settings: Settings, on_step: Callable[[], object] = lambda: None, seed: int = 0
) -> LeavesTuned | None:
    """Kernel parameters and noise with the least leave-one-out squared error inside (a sample of) the impure leaves."""
    now = (forest.settings.kernel, forest.settings.noise)
    return tune_parts(impure_leaves(forest, seed), now, settings, on_step)


def impure_leaves(forest: Forest[R], seed: int = 0) -> Iterator[LeafRows]:
    """The rows of leaves that have several classes, in an order that has nothing to do with them."""
    leaves = [leaf for some in forest.leaves for leaf in some.values()]
    leaves = [leaf for leaf in leaves if len(leaf.classes) > 1 and len(leaf.members) >= MIN_ROWS]
    for i in np.random.default_rng(seed).permutation(len(leaves)):
        leaf = leaves[i]
        rows = leaf.members[: max(2 * forest.settings.leaf_size, SAMPLE_ROWS)]
        numbers = np.searchsorted(leaf.classes, forest.labels[rows])
        operator = forest.rows.operator(rows, forest.settings.kernel)
        yield LeafRows(operator, one_vs_all(numbers, len(leaf.classes) + 1), forest.noise_factors_of(rows))


def tune_parts(
    leaves: Iterable[LeafRows], now: Given, settings: Settings, on_step: Callable[[], object] = lambda: None
) -> LeavesTuned | None:
    """The same for the first of these leaves, from this kernel and noise and from the settings; None without leaves.

    The amplitude then follows in closed form, as it does for one model (core.tuning).
    """
    parts: list[tuple[Criterion, int]] = []
    operators: list[Operator] = []
    looked = 0
    for leaf in leaves:
        operators.append(leaf.operator)
        parts.append((DualCriterion(*leaf, "loo"), len(leaf.noise_factors)))
        looked += len(leaf.noise_factors)
        if looked >= SAMPLE_ROWS:
            break
    if not parts:
        return None
    largest = max(operators, key=len)
    origin = untuned(settings, largest)
    units = Units.of(operators, origin[0])
    criterion, free = in_units(LeavesCriterion(parts), units), free_parameters(now[0], weights=False)
    begins = starts(criterion, units, origin, now, free, on_step)
    ends = [simplex_search(criterion, start, on_step=on_step) for start in begins]
    found = min(ends, key=lambda end: end.value)
    amplitude = found.evaluation.amplitude
    amplitude = amplitude if np.isfinite(amplitude) and amplitude > 0.0 else 1.0
    setting = found.setting
    kernel, noise = units.true(setting.kernel).scaled(amplitude), setting.noise * amplitude
    spent, at_bounds = sum(end.evaluations for end in ends), bounds_met(units, setting, amplitude)
    return LeavesTuned(kernel, noise, found.evaluation.value, spent, looked, at_bounds)


@dataclass(frozen=True, eq=False)
class Candidate:
    """A setting that was validated: its log loss, and the share of rows it got right."""

    rule: TreeRule
    leaf_size: int
    gamma: float | None
    log_loss: float
    accuracy: float


def validate(
    leaf: LeafSettings,
    settings: Settings,
    rows: TableRows,
    labels: Indices,
    n_classes: int,
    *,
    n_trees: int,
    rules: Sequence[TreeRule],
    leaf_sizes: Sequence[int],
    gammas: bool,
    loo: bool,
    seed: int,
) -> tuple[LeafSettings, TreeRule, list[Candidate]]:
    """Leaf size, kind of tree and gamma by the log loss of held-out rows.

    Froehlich2012 has accuracy (section 5.2.1), which is a matter of a few rows where nearly all are right; the log loss
    still tells candidates apart there. With `loo`, gamma and noise are tuned inside the leaves of each candidate
    instead. Of equal ones the first wins.
    """
    order = np.random.default_rng(seed).permutation(len(rows))[:VALIDATION_ROWS]
    folds = [held for held in np.array_split(order, round(1 / SHARE))[:FOLDS] if len(held)]
    # A leaf that holds everything says the same however much larger it could be.
    sizes = sorted({min(size, max(len(order) - len(folds[0]), 1)) for size in leaf_sizes})
    scales = GAMMAS if gammas and isinstance(leaf.kernel, RBFKernel) else (1.0,)
    tried: list[tuple[Candidate, LeafSettings]] = []
    for rule, size in product(rules, sizes):
        figures, found = np.zeros((len(folds), len(scales), 2)), []
        for fold, held in enumerate(folds):
            rest = np.setdiff1d(order, held)
            forest = Forest(replace(leaf, leaf_size=size), rows.only(rest), labels[rest], n_classes, (), rule, seed)
            forest.grow(n_trees)
            if loo and (tuned := tune_shared(forest, settings, seed=seed)):
                forest.reset(tuned.kernel, tuned.noise)
            for place, scale in enumerate(scales):
                kernel = forest.settings.kernel if scale == 1.0 else _with_gamma(leaf.kernel, scale)
                forest.reset(kernel, forest.settings.noise)
                figures[fold, place] = _figures(forest, rows.take(held), labels[held])
                found.append(forest.settings)
        for used, (loss, right) in zip(found[: len(scales)], figures.mean(axis=0).tolist(), strict=True):
            tried.append((Candidate(rule, size, getattr(used.kernel, "gamma", None), loss, right), used))
    best, chosen = min(tried, key=lambda one: one[0].log_loss)
    return chosen, best.rule, [candidate for candidate, _ in tried]


def _figures(forest: Forest[TableRows], x: Table, labels: Indices) -> tuple[float, float]:
    """Log loss, with one more tree that knows nothing (pure leaves say 0 and 1), and accuracy."""
    found, n_trees = forest.probabilities(x), len(forest.trees)
    careful = (n_trees * found + 1.0 / forest.n_classes) / (n_trees + 1)
    return log_loss(careful, labels), float((found.argmax(axis=1) == labels).mean())


def _with_gamma(kernel: Kernel, scale: float) -> Kernel:
    assert isinstance(kernel, RBFKernel)
    return replace(kernel, gamma=kernel.gamma * scale)
