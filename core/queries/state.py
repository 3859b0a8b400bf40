"""What a strategy may look at."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from core._jit import scores
from core._parallel import over_slices
from core._types import Floats, Indices

Columns = Callable[[Indices, Indices], Floats]
"""Rows and columns of a symmetric matrix over the pool that is never stored: (rows, columns) -> rows x columns."""


@dataclass(frozen=True, eq=False)
class PoolState:
    """The posterior of m unlabelled items, and the matrices behind it.

    `rows` are the items' numbers in the pool; `reference` is a sample of the pool that stands for all of it.
    """

    mean: Floats  # m x M
    variance: Floats  # m
    noise: float
    rows: Indices  # m
    covariance: Columns  # posterior covariance of pool items
    kernel: Columns  # prior covariance of pool items
    reference: Indices
    labelled: Indices  # pool items that have a label

    def __len__(self) -> int:
        return len(self.variance)

    @property
    def spread(self) -> Floats:
        """sqrt(noise + variance), m: the standard deviation of a target."""
        return np.sqrt(self.noise + self.variance)

    @property
    def margin(self) -> Floats:
        """|mu| for one or two classes; the gap between the best and the second-best mean for more."""
        if self.mean.shape[1] <= 2:
            return np.abs(self.mean[:, -1])
        means, out = np.ascontiguousarray(self.mean), np.empty(len(self.mean))
        over_slices(lambda lo, hi: scores.lead(means, out, lo, hi), len(out), means.size)
        return out

    def take(self, places: Indices) -> "PoolState":
        """The items at these places alone."""
        return replace(self, mean=self.mean[places], variance=self.variance[places], rows=self.rows[places])

    def asked(self, row: int, variance: Floats) -> "PoolState":
        """The same items once this one is asked about: less uncertain, and one more that counts as labelled."""
        return replace(self, variance=variance, labelled=np.append(self.labelled, row))
