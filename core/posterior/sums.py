"""Training by sums over rows: what level space needs is additive over chunks, processes and machines."""

from dataclasses import dataclass

import numpy as np

from core._types import Floats, Indices
from core.drafts import all_or_nothing
from core.histograms import CodedRows, LevelTable
from core.linalg import HistogramOperator, LevelFeatures, LevelSystem, with_room
from core.posterior.level_space import LevelPosterior
from core.posterior.regression import LabelRegression, one_vs_all


@dataclass(frozen=True, eq=False)
class LevelSums:
    """Counts of rows. They are integers, so that sums are exact in any order.

    >>> levels = LevelTable.of([np.array([1.0, 2.0]), np.ones(1)])
    >>> rows = CodedRows.of(np.array([0, 2, 1, 2], dtype=np.uint16), np.array([0, 2, 4]))  # 1 and 2, with the constant
    >>> a = LevelSums.of(levels, rows, np.array([0, 1]), 2)
    >>> (a + a).sizes.tolist(), np.tril((a + a).pairs).tolist()
    ([2, 2], [[4.0, 0.0, 0.0], [2.0, 2.0, 0.0], [4.0, 2.0, 4.0]])
    """

    pairs: Floats  # S x S, lower triangle: rows at or above both levels, which are in sorted order
    by_class: Floats  # S x M: rows of each class at or above each level
    sizes: Indices  # M: rows of each class

    @classmethod
    def of(cls, levels: LevelTable, rows: CodedRows, labels: Indices, n_classes: int) -> "LevelSums":
        """The counts of coded rows with these class numbers."""
        features = LevelFeatures(levels.sorted_positions(rows), rows.starts, levels.start, np.zeros(len(levels)))
        size = features.size
        return cls(
            np.array(features.counts(np.ones(len(rows)))[:size, :size], order="F"),
            features.sums((labels[:, None] == np.arange(n_classes)).astype(np.float64)),
            np.bincount(labels, minlength=n_classes),
        )

    def __add__(self, other: "LevelSums") -> "LevelSums":
        return LevelSums(self.pairs + other.pairs, self.by_class + other.by_class, self.sizes + other.sizes)

    def renumbered(self, renumber: Indices, n_classes: int) -> "LevelSums":
        """With other class numbers."""
        by_class, sizes = np.zeros((len(self.by_class), n_classes)), np.zeros(n_classes, dtype=np.int64)
        by_class[:, renumber], sizes[renumber] = self.by_class, self.sizes
        return LevelSums(self.pairs, by_class, sizes)


class SummedPosterior(LevelPosterior):
    """The level-space posterior from sums alone: all but what needs single rows, as `weights` does."""

    def __init__(self, operator: HistogramOperator, sums: LevelSums, noise: float) -> None:
        self._history, self._variance_of_noise = sums, noise
        super().__init__(operator, one_vs_all(np.empty(0, dtype=np.int64), len(sums.sizes)), np.empty(0))

    @property
    def weights(self) -> Floats:
        raise ValueError("rows that came in chunks are known by their sums alone: they have no weights of their own")

    def residual(self) -> float:
        """Largest column of |A w - b| / |b|, with the system of level space."""
        right = self._right()
        scale = np.linalg.norm(right, axis=0)
        error = np.linalg.norm(right - self._times(self._w), axis=0)
        return float((error / np.where(scale > 0.0, scale, 1.0)).max(initial=0.0))

    def _fit(self) -> None:
        history, size = self._history, len(self.operator.levels)
        counts = with_room(size)
        counts[:size, :size] = history.pairs / self._variance_of_noise
        self._feature = self.operator.levels.rank
        self._space = LevelSystem(counts, self.operator.features().root_gap)
        rows = np.diagonal(history.pairs)[:, None]  # at or above each level, of all classes
        self._sums = (2.0 * history.by_class - rows) / self._variance_of_noise
        self._solve()
        self._refine(self._correct_by_system)

    def _correct_by_system(self) -> None:
        self._w = self._w + self._space.solve(self._right() - self._times(self._w))

    def _right(self) -> Floats:
        return np.asarray(self._space.root_gap[:, None] * self._sums)

    def _times(self, w: Floats) -> Floats:
        """A w."""
        root, pairs = self._space.root_gap[:, None], np.tril(self._history.pairs)
        scaled = root * w
        product = pairs @ scaled + pairs.T @ scaled - np.diagonal(pairs)[:, None] * scaled
        return np.asarray(w + root * product / self._variance_of_noise)


class SummedRegression(LabelRegression):
    """Label regression from sums. Levels are fixed, rows are added as sums and cannot be removed."""

    operator: HistogramOperator

    def __init__(self, operator: HistogramOperator, sums: LevelSums, *, noise: float) -> None:
        self.sums = sums
        super().__init__(operator, np.empty(0, dtype=np.int64), len(sums.sizes), noise=noise, rule="levels")

    @all_or_nothing
    def learn(self, rows: CodedRows, labels: Indices, renumber: Indices, n_classes: int) -> None:
        """More rows, coded; known classes get these numbers of so many."""
        more = LevelSums.of(self.operator.levels, rows, labels, n_classes)
        self.sums, self.n_classes = self.sums.renumbered(renumber, n_classes) + more, n_classes
        self._fit()

    def _fit(self) -> None:
        self.name = "levels"
        self.posterior = SummedPosterior(self.operator, self.sums, self.noise)
