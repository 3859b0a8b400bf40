"""Labelled data played as if a person answered: learning curves of query strategies."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from core._types import Floats, Indices, Table
from core.learner import OnlineLearner
from core.settings import Settings
from core.tables import dense

CHECKPOINTS = 25  # at which accuracy is measured


@dataclass(frozen=True, eq=False)
class Curve:
    """Test accuracy of one strategy after so many labels, one row per repeat."""

    strategy: str
    labels: Indices  # checkpoints
    accuracy: Floats  # repeats x checkpoints

    @property
    def area(self) -> Floats:
        """Area under the budget curve of each repeat: the mean accuracy between the first and the last checkpoint.

        The trapezoids' sum divided by the number of labels between them, so that 1 is perfect from the start on.
        """
        width = self.labels[-1] - self.labels[0]
        if not width:
            return self.accuracy[:, 0]
        return np.asarray(np.trapezoid(self.accuracy, self.labels, axis=1) / width)

    def labels_needed(self, target: float) -> int | None:
        """Labels after which the mean accuracy reaches the target and stays there; None if it never does."""
        below = np.flatnonzero(self.accuracy.mean(axis=0) < target)
        first = below[-1] + 1 if len(below) else 0
        return int(self.labels[first]) if first < len(self.labels) else None


@dataclass(frozen=True, eq=False)
class Dataset:
    """A pool with its labels, and rows to test on."""

    x: Table
    y: Indices  # class numbers
    x_test: Table
    y_test: Indices
    n_classes: int


def play(
    dataset: Dataset,
    strategy: str,
    budget: int,
    *,
    settings: Settings,
    seed: int = 0,
    tune: bool = True,
    initial: int = 0,
) -> Iterator[tuple[int, float]]:
    """Ask, answer, learn: (labels, test accuracy) at each checkpoint.

    The pool is shuffled by the seed; its first `initial` items have labels from the start, the learner's own cold start
    chooses otherwise. Hyperparameters (with kernel="auto" the kernel, too) are found at 10, 20, 40, ... labels.
    """
    order = np.random.default_rng(seed).permutation(len(dataset.y))
    learner = OnlineLearner(settings, [str(c) for c in range(dataset.n_classes)])
    learner.add_items(dataset.x[order])
    checkpoints = set(marks(budget, len(order)).tolist())
    retune_at = 10
    for n in range(1, min(budget, len(order)) + 1):
        item = n - 1 if n <= initial else learner.query(1, strategy, seed=seed * 1_000_003 + n)[0].row
        learner.label(item, str(dataset.y[order[item]]))
        if tune and n == retune_at:
            if settings.kernel == "auto":
                learner = OnlineLearner.build(settings, dataset.x[order], learner.labelling(), train=True)
            else:
                learner.tune()
            retune_at *= 2
        if n in checkpoints:
            yield n, float(np.mean(learner.predict(dataset.x_test) == dataset.y_test))


def marks(budget: int, size: int) -> Indices:
    """Checkpoints: all for small budgets, about evenly spaced for larger ones."""
    last = min(budget, size)
    return np.unique(np.linspace(min(5, last), last, CHECKPOINTS).astype(np.int64))


def simulate(
    dataset: Dataset,
    strategies: list[str],
    budget: int,
    *,
    settings: Settings | None = None,
    repeats: int = 3,
    seed: int = 0,
    tune: bool = True,
    initial: int = 0,
    on_progress: Callable[[], object] = lambda: None,
) -> list[Curve]:
    """A curve per strategy. Repeat r of every strategy sees the pool in the same order.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.random((60, 2)); y = (x[:, 0] > x[:, 1]).astype(int)
    >>> curves = simulate(Dataset(x[:40], y[:40], x[40:], y[40:], 2), ["random", "unc"], 12, repeats=1)
    >>> [curve.strategy for curve in curves], curves[0].accuracy.shape
    (['random', 'unc'], (1, 8))
    """
    settings = settings or default_settings(dataset.x)
    curves = []
    for strategy in strategies:
        runs = []
        for repeat in range(repeats):
            run = []
            for point in play(
                dataset, strategy, budget, settings=settings, seed=seed + repeat, tune=tune, initial=initial
            ):
                run.append(point)
                on_progress()
            runs.append(run)
        labels = np.array([n for n, _ in runs[0]])
        curves.append(Curve(strategy, labels, np.array([[value for _, value in run] for run in runs])))
    return curves


def default_settings(x: Table) -> Settings:
    """Histograms as they are, anything else complement-coded.

    Histograms are rows without negative values that have many zeros or all the same sum.
    """
    values = dense(x[: min(1000, x.shape[0])])
    sums = values.sum(axis=1)
    even = bool(np.ptp(sums) <= 1e-6 * max(float(sums.mean()), 1e-300))
    histograms = values.min() >= 0.0 and (even or float(np.mean(values == 0.0)) > 0.3)
    return Settings(complement=not histograms)
