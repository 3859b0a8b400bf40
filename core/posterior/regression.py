"""Label regression: class numbers in, the posterior of one function per class out (paper 000, section 3)."""

from typing import Any, Literal

import numpy as np
from scipy.special import log_ndtr, logsumexp

from core._types import Floats, Indices
from core.linalg import Operator
from core.posterior.base import Posterior
from core.posterior.choose import POSTERIORS, PosteriorName, choose

PosteriorRule = PosteriorName | Literal["auto"]


class LabelRegression:
    """M one-vs-all functions with targets +1 and -1 over the rows of an operator, in the cheapest posterior.

    With `balance`, row i of class y has noise M sigma^2 n_y / n (at M = 2 the formula of the paper). Each label then
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
        rule: PosteriorRule = "auto",
        max_memory: float = np.inf,
    ) -> None:
        self.operator = operator
        self.labels = labels  # n, class numbers
        self.n_classes = n_classes
        self.noise = noise
        self._balance = balance
        self._rule = rule
        self._max_memory = max_memory
        self._fit()

    def add(self, query: Any, labels: Indices) -> None:
        """Learn more rows."""
        n = len(self.labels)
        self.labels = np.concatenate([self.labels, labels])
        # What is cheapest changes with n; looked at again when n has doubled.
        if self._balance or (self._rule == "auto" and len(self.labels) > 2 * self._chosen_at):
            self.operator.append(query)
            self._fit()
        else:
            self.posterior.add(query, self._targets()[n:], self._noises()[n:])

    def remove(self, rows: Indices) -> None:
        """Forget rows; the others move up."""
        self.labels = np.delete(self.labels, rows)
        if self._balance:
            self.operator.remove(rows)
            self._fit()
        else:
            self.posterior.remove(rows)

    def relabel(self, labels: Indices, n_classes: int) -> None:
        """Give all rows these class numbers, of so many classes."""
        self.labels, self.n_classes = labels, n_classes
        if self._balance:
            self._fit()
        else:
            self.posterior.retarget(self._targets())

    def probabilities(self, query: Any) -> Floats:
        """P(target > 0) of each class by mean and variance, normalised over the classes; rows x M."""
        spread = np.sqrt(self.posterior.variance(query) + self.noise)
        logs = log_ndtr(self.posterior.means(query) / spread[:, None])
        return np.asarray(np.exp(logs - logsumexp(logs, axis=1, keepdims=True)))

    def _fit(self) -> None:
        self.name = choose(self.operator, self.n_classes, self._max_memory) if self._rule == "auto" else self._rule
        self._chosen_at = len(self.labels)
        try:
            self.posterior: Posterior = POSTERIORS[self.name](self.operator, self._targets(), self._noises())
        except MemoryError as error:
            raise MemoryError(
                f"posterior={self.name!r} does not fit into memory ({error}): use fewer levels, or another posterior"
            ) from error

    def _targets(self) -> Floats:
        return np.where(self.labels[:, None] == np.arange(self.n_classes), 1.0, -1.0)

    def _noises(self) -> Floats:
        if not self._balance:
            return np.full(len(self.labels), self.noise)
        sizes = np.bincount(self.labels, minlength=self.n_classes)
        return self.noise * self.n_classes * sizes[self.labels] / len(self.labels)
