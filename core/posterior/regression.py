"""Label regression: class numbers in, the posterior of one function per class out (Rodner2012, section 3)."""

from typing import Any, Literal, Self

import numpy as np

from core._types import Floats, Indices
from core.drafts import Drafted, all_or_nothing
from core.kernels import Kernel
from core.linalg import Operator
from core.posterior.base import Posterior
from core.posterior.choose import POSTERIORS, PosteriorName, choose
from core.probabilities import class_probabilities
from core.rows import NO_ROWS, Rows, Size

PosteriorRule = PosteriorName | Literal["auto"]


class LabelRegression(Drafted):
    """M one-vs-all functions with targets +1 and -1 over the rows of an operator, in the cheapest posterior.

    With `balance`, row i of class y has noise M sigma^2 n_y / n (at M = 2 that of Rodner2012). Each label then
    changes the noise of all rows, so that an update is a new fit.
    """

    def __init__(
        self,
        operator: Operator,
        labels: Indices,
        n_classes: int,
        *,
        noise: float,
        balance: bool = False,
        noise_factors: Floats | None = None,
        rule: PosteriorRule = "auto",
        max_memory: float = np.inf,
        pool_size: Size = NO_ROWS,
    ) -> None:
        self.operator = operator
        self.labels = labels  # n, class numbers
        self.n_classes = n_classes
        # n, multiples of the noise: larger for labels that are trusted less, smaller for those that count more
        self.noise_factors = np.ones(len(labels)) if noise_factors is None else noise_factors
        self.noise = noise
        self.balance = balance
        self._rule = rule
        self.max_memory = max_memory
        self.pool_size = pool_size  # size of the rows that are predicted after each change
        self.sharpness: float | None = None  # of class probabilities, where tuning has found it
        self._fit()

    def draft(self) -> Self:
        twin = super().draft()
        twin.operator = self.operator.draft()
        twin.posterior = self.posterior.draft(twin.operator)
        return twin

    @all_or_nothing
    def add(
        self,
        query: Rows,
        labels: Indices,
        renumber: Indices | None = None,
        n_classes: int | None = None,
        noise_factors: Floats | None = None,
    ) -> None:
        """Learn more rows; where they bring new classes, `renumber` gives the old class numbers their new ones.

        `noise_factors` are multiples of the noise for the new rows, 1 by default.
        """
        self.operator.check(query)
        n = len(self.labels)
        grown = n_classes is not None and n_classes > self.n_classes
        if renumber is not None and n_classes is not None:
            self.labels, self.n_classes = renumber[self.labels], n_classes
        self.labels = np.concatenate([self.labels, labels])
        self.noise_factors = np.concatenate(
            [self.noise_factors, np.ones(len(labels)) if noise_factors is None else noise_factors]
        )
        # What is cheapest changes with n; looked at again when n has doubled.
        if self.balance or (self._rule == "auto" and len(self.labels) > 2 * self._chosen_at):
            self.operator.append(query)
            self._fit()
            return
        targets = self._targets()
        if grown:
            self.posterior.retarget(targets[:n])
        self.posterior.add(query, targets[n:], self._noises()[n:])

    @all_or_nothing
    def remove(self, rows: Indices) -> None:
        """Remove training rows; the indices of later rows decrease."""
        self.labels = np.delete(self.labels, rows)
        self.noise_factors = np.delete(self.noise_factors, rows)
        if self.balance:
            self.operator.remove(rows)
            self._fit()
        else:
            self.posterior.remove(rows)

    @all_or_nothing
    def relabel(self, labels: Indices, n_classes: int, noise_factors: Floats | None = None) -> None:
        """Give all rows these class numbers, of so many classes, and other multiples of the noise if there are any."""
        self.labels, self.n_classes = labels, n_classes
        noisier = noise_factors is not None and not np.array_equal(noise_factors, self.noise_factors)
        if noise_factors is not None:
            self.noise_factors = noise_factors
        if self.balance or noisier:
            self._fit()
        else:
            self.posterior.retarget(self._targets())

    @all_or_nothing
    def learn_levels(self, query: Rows) -> Rows:
        """Rows as they are stored: new values of histograms become levels, where there is room; they are not added."""
        coded = self.operator.learn_levels(query)
        self.posterior.follow_levels()
        return coded

    @all_or_nothing
    def follow_levels(self, levels: Any) -> None:
        """Use levels of another operator, which extend those in use."""
        self.operator.follow_levels(levels)
        self.posterior.follow_levels()

    @all_or_nothing
    def reset(self, kernel: Kernel, noise: float) -> None:
        """Another kernel and noise for the same rows and labels."""
        self.operator = self.operator.with_kernel(kernel)
        self.noise, self.sharpness = noise, None
        self._fit()

    @all_or_nothing
    def refit(self) -> None:
        """Solve from scratch: the posterior as it follows from rows, labels and settings alone."""
        self._fit()

    def noise_shape(self) -> Floats:
        """The noise of each row as a multiple of `noise`."""
        if not self.balance:
            return self.noise_factors
        sizes = np.bincount(self.labels, minlength=self.n_classes)
        return np.asarray(self.noise_factors * self.n_classes * sizes[self.labels] / len(self.labels))

    def probabilities(self, query: Rows) -> Floats:
        """Of the classes, rows x M: softmax of means where their sharpness is known, else P(target > 0), normalised."""
        means = self.posterior.means(query)
        variances = self.posterior.variance(query) + self.noise if self.sharpness is None else np.empty(0)
        return class_probabilities("gaussian", means, variances, self.sharpness)

    def _fit(self) -> None:
        self.name = (
            choose(self.operator, self.n_classes, self.max_memory, self.pool_size)
            if self._rule == "auto"
            else self._rule
        )
        self._chosen_at = len(self.labels)
        try:
            self.posterior: Posterior = POSTERIORS[self.name](self.operator, self._targets(), self._noises())
        except MemoryError as error:
            raise MemoryError(
                f"posterior={self.name!r} does not fit into memory ({error}): use fewer levels, or another posterior"
            ) from error

    def _targets(self) -> Floats:
        return one_vs_all(self.labels, self.n_classes)

    def _noises(self) -> Floats:
        return self.noise * self.noise_shape()


def one_vs_all(labels: Indices, n_classes: int) -> Floats:
    """Targets +1 in the column of the row's class, -1 elsewhere; n x M.

    >>> one_vs_all(np.array([0, 1]), 2).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    return np.where(labels[:, None] == np.arange(n_classes), 1.0, -1.0)
