"""A pool and the labels of some of its items, kept in step: model, pool posterior, and who was learnt when."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from core._types import Floats, Indices
from core.drafts import Drafted, all_or_nothing
from core.histograms import RawRows
from core.kernels import Kernel
from core.linalg import HistogramOperator, Operator, Predictor
from core.posterior.parts import Parts
from core.posterior.pool import PoolPosterior
from core.posterior.regression import LabelRegression, one_vs_all

MOST_DRIFT = 1e-7  # after a label was taken back: with more the pool is computed anew
BLOCK = 64  # labels that move the pool in one gather


class LabelledPool(Drafted):
    """After each change, mean and variance of all items are those of a fresh fit on the labels there are.

    Training row i of `model` is the item `learnt[i]` of the pool.
    """

    votes = None  # of trees: there are none
    is_outgrown = False

    def __init__(self, model: LabelRegression, pool: PoolPosterior, learnt: list[int] | None = None) -> None:
        self.model = model
        self.pool = pool
        model.pool = pool.size
        self.learnt = learnt or []  # items in the order their labels were learnt

    def draft(self) -> Self:
        twin = super().draft()
        twin.model, twin.pool, twin.learnt = self.model.draft(), self.pool.draft(), list(self.learnt)
        return twin

    def __len__(self) -> int:
        return len(self.pool)

    @property
    def mean(self) -> Floats:
        """Of all items, m x M."""
        return self.pool.mean

    @property
    def variance(self) -> Floats:
        """Of all items, m."""
        return self.pool.variance

    @property
    def parts(self) -> Parts:
        """All items, wherever they are."""
        return self.pool.parts

    @property
    def all_rows(self) -> Any:
        """All items as a query."""
        return self.pool.rows

    @property
    def numbers(self) -> Indices:
        """The class number of each learnt item."""
        return self.model.labels

    @property
    def factors(self) -> Floats:
        """How much the label of each learnt item is doubted."""
        return self.model.factors

    @property
    def operator(self) -> Operator:
        """The kernel over the learnt items."""
        return self.model.operator

    @property
    def noise(self) -> float:
        """Variance of the noise on a target."""
        return self.model.noise

    @property
    def name(self) -> str:
        """Of the posterior in use."""
        return self.model.name

    @property
    def rounds(self) -> int:
        """Of conjugate gradients, if it is the iterative one."""
        return getattr(self.model.posterior, "rounds", 0)

    @property
    def predictor(self) -> Predictor:
        """The means as a function, which later changes do not touch."""
        return self.model.posterior.predictor

    @property
    def hyperparameters(self) -> dict[str, float]:
        """Kernel parameters and noise in use, by name."""
        kernel = self.operator.kernel
        return dict(zip((*kernel.names, "noise"), (*map(float, kernel.theta), self.noise), strict=True))

    @property
    def labels(self) -> Indices:
        """The class number of each item, -1 without a label."""
        labels = np.full(len(self), -1, dtype=np.int64)
        labels[self.learnt] = self.model.labels
        return labels

    @property
    def noises(self) -> Floats:
        """The variance of the noise on each item's label, or on one to come."""
        noises = np.full(len(self), self.model.noise)
        noises[self.learnt] = self.model.posterior.noise
        return noises

    @all_or_nothing
    def append(self, query: Any) -> None:
        """More items, with levels for their values where there is room."""
        operator = self.model.operator
        if isinstance(operator, HistogramOperator) and isinstance(query, RawRows):
            query = self.model.learn_levels(query)
        self.pool.append(self.model.posterior, query)
        self.model.pool = self.pool.size

    @all_or_nothing
    def learn(self, items: Indices, numbers: Indices, doubts: Floats) -> None:
        """Items without a label get these class numbers; `doubts` multiply their noise."""
        if self.model.balance or len(items) > max(BLOCK, len(self.learnt) // 8):
            self.learn_unseen(items, numbers, doubts)
            self.refresh()
            return
        for first in range(0, len(items), BLOCK):
            some = slice(first, first + BLOCK)
            targets = one_vs_all(numbers[some], self.model.n_classes)
            noise = self.model.noise * doubts[some]
            self.pool.learn(self.model.posterior, self.rows(items[some]), targets, noise)
            self.learn_unseen(items[some], numbers[some], doubts[some])

    @all_or_nothing
    def learn_unseen(self, items: Indices, numbers: Indices, doubts: Floats) -> None:
        """The same in the model alone: refresh the pool when all is known."""
        self.model.add(self.rows(items), numbers, factors=doubts)
        self.learnt += items.tolist()

    @all_or_nothing
    def forget(self, item: int) -> None:
        """An item loses its label."""
        index = self.learnt.index(item)
        if not self.model.balance:
            self.pool.forget(self.model.posterior, index)
        self.model.remove(np.array([index]))
        del self.learnt[index]
        if self.model.balance or not (self.residual() <= MOST_DRIFT and self._drift(item) <= MOST_DRIFT):
            self.refresh()

    @all_or_nothing
    def relabel(self, item: int, number: int) -> None:
        """A labelled item gets another class number."""
        index = self.learnt.index(item)
        labels, n_classes = self.model.labels.copy(), self.model.n_classes
        labels[index] = number
        if not self.model.balance:
            self.pool.relabel(self.model.posterior, index, one_vs_all(np.array([number]), n_classes)[0])
        self.model.relabel(labels, n_classes)
        self._after_balance()

    @all_or_nothing
    def renumber(self, renumber: Indices, n_classes: int) -> None:
        """Old classes have these numbers from now on: classes come or are merged."""
        self.model.relabel(renumber[self.numbers], n_classes)
        self.pool.retarget(self.model.posterior)
        self._after_balance()

    @all_or_nothing
    def reset(self, kernel: Kernel, noise: float) -> None:
        """Another kernel and noise for the same labels."""
        self.model.reset(kernel, noise)
        self.refresh()

    def refit(self) -> None:
        """Solve from scratch; the pool is as it was."""
        self.model.refit()

    def moments(self, query: Any) -> tuple[Floats, Floats]:
        """Means (rows x M) and variances (rows) of rows that need not be items."""
        return self.model.posterior.means(query), self.model.posterior.variance(query)

    def predictive(self, query: Any) -> tuple[Floats, Floats, Floats | None]:
        """The same, and probabilities where they do not follow from these."""
        return *self.moments(query), None

    def means(self, query: Any) -> Floats:
        """Of rows that need not be items, rows x M."""
        return self.model.posterior.means(query)

    def residual(self) -> float:
        """How exact the solution is."""
        return self.model.posterior.residual()

    def refresh(self) -> None:
        """Mean and variance of all items from scratch."""
        self.pool.refresh(self.model.posterior)

    def settle(self) -> None:
        """After many labels that were not looked at."""
        self.refresh()

    def rows(self, items: Indices) -> Any:
        """These items as a query."""
        return self.pool.parts.take(items).rows

    def covariance(self, rows: Indices, columns: Indices) -> Floats:
        """Posterior covariance of items, rows x columns."""
        return self.covariance_with(self.rows(columns))(self.rows(rows))

    def kernel(self, rows: Indices, columns: Indices) -> Floats:
        """Prior covariance of items, rows x columns."""
        return self.kernel_with(self.rows(columns))(self.rows(rows))

    def covariance_with(self, query: Any) -> Predictor:
        """The functions x -> posterior covariance with each row of a query."""
        return self.model.posterior.covariance(query)

    def kernel_with(self, query: Any) -> Predictor:
        """The functions x -> prior covariance with each row of a query."""
        operator = self.model.operator
        return operator.difference(query, np.zeros((len(operator), len(query))))

    def keepsakes(self, *, warm: bool) -> dict[str, NDArray[Any]]:  # noqa: ARG002
        """Plain arrays of what labels and hyperparameters do not tell; `warm` with what a fit may start from."""
        return {}

    def _drift(self, item: int) -> float:
        """How far mean and variance of an item are from what the model says of it, relative to their size.

        Where its own label was taken back they have changed most.
        """
        some = self.pool.parts.take(np.array([item]))
        mean, variance = self.moments(some.rows)
        off = np.abs(some.mean - mean).max(initial=0.0) / (1.0 + np.abs(mean).max(initial=0.0))
        return float(max(off, np.abs(some.variance - variance)[0] / max(float(variance[0]), self.noise)))

    def _after_balance(self) -> None:
        if self.model.balance:  # each label changed the noise of all
            self.refresh()
