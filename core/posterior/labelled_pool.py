"""A pool and the labels of some of its items, kept in step: model, pool posterior, and who was learnt when."""

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any

import numpy as np

from core._types import Floats, Indices
from core.histograms import CodedRows, RawRows
from core.kernels import Kernel
from core.linalg import HistogramOperator
from core.posterior.pool import PoolPosterior
from core.posterior.regression import LabelRegression, one_vs_all

BLOCK = 64  # labels that move the pool in one gather


class LabelledPool:
    """After each change, mean and variance of all items are those of a fresh fit on the labels there are.

    Training row i of `model` is the item `learnt[i]` of the pool.
    """

    def __init__(self, model: LabelRegression, pool: PoolPosterior, learnt: list[int] | None = None) -> None:
        self.model = model
        self.pool = pool
        self.learnt = learnt or []  # items in the order their labels were learnt

    def __len__(self) -> int:
        return len(self.pool)

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

    def append(self, query: Any) -> None:
        """More items, with levels for their values where there is room."""
        operator = self.model.operator
        if isinstance(operator, HistogramOperator) and isinstance(query, RawRows):
            query = operator.learn_levels(query)
            self.model.posterior.follow_levels()
        self.pool.append(self.model.posterior, query)

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

    def learn_unseen(self, items: Indices, numbers: Indices, doubts: Floats) -> None:
        """The same in the model alone: refresh the pool when all is known."""
        self.model.add(self.rows(items), numbers, factors=doubts)
        self.learnt += items.tolist()

    def forget(self, item: int) -> None:
        """An item loses its label."""
        index = self.learnt.index(item)
        if not self.model.balance:
            self.pool.forget(self.model.posterior, index)
        self.model.remove(np.array([index]))
        del self.learnt[index]
        self._after_balance()

    def relabel(self, item: int, number: int, doubt: float) -> None:
        """A labelled item gets another class number, or another doubt."""
        index = self.learnt.index(item)
        if doubt != self.model.factors[index]:
            self.forget(item)
            self.learn(np.array([item]), np.array([number]), np.array([doubt]))
            return
        labels, n_classes = self.model.labels.copy(), self.model.n_classes
        labels[index] = number
        if not self.model.balance:
            self.pool.relabel(self.model.posterior, index, one_vs_all(np.array([number]), n_classes)[0])
        self.model.relabel(labels, n_classes)
        self._after_balance()

    def renumber(self, labels: Indices, n_classes: int) -> None:
        """All labels in other class numbers: classes come or are merged."""
        self.model.relabel(labels, n_classes)
        self.pool.retarget(self.model.posterior)
        self._after_balance()

    def reset(self, kernel: Kernel, noise: float) -> None:
        """Another kernel and noise for the same labels."""
        self.model.reset(kernel, noise)
        self.refresh()

    def refresh(self) -> None:
        """Mean and variance of all items from scratch."""
        self.pool.refresh(self.model.posterior)

    def rows(self, items: Indices) -> Any:
        """These items as a query."""
        rows = self.pool.rows
        return rows.take(items) if isinstance(rows, CodedRows) else rows[items]

    def covariance(self, rows: Indices, columns: Indices) -> Floats:
        """Posterior covariance of items, rows x columns."""
        return self.model.posterior.covariance(self.rows(columns))(self.rows(rows))

    def kernel(self, rows: Indices, columns: Indices) -> Floats:
        """Prior covariance of items, rows x columns."""
        operator = self.model.operator
        return operator.difference(self.rows(columns), np.zeros((len(operator), len(columns))))(self.rows(rows))

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """Take everything back when a change fails half-way."""
        learnt, pool = list(self.learnt), copy(self.pool)
        try:
            with self.model.all_or_nothing():
                yield
        except Exception:
            self.learnt, self.pool = learnt, pool
            raise

    def _after_balance(self) -> None:
        if self.model.balance:  # each label changed the noise of all
            self.refresh()
