"""What a strategy may look at."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from scipy.special import ndtr, xlogy

from core._jit import scores
from core._jit.ahead import Items
from core._parallel import over_slices
from core._types import Floats, Indices, no_rows
from core.models.look_ahead import LookAhead, class_probabilities, one_posterior
from core.probabilities import Likelihood, error_probabilities, log_odds, probit

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
    wanted: Indices = field(default_factory=no_rows, kw_only=True)  # class numbers of those that are to be found
    around: Items | None = field(default=None, kw_only=True)  # the posterior of the reference
    costs: Floats | None = field(default=None, kw_only=True)  # M x M, of a true class and a decision; None is log loss
    looked: LookAhead | None = field(default=None, kw_only=True)  # what was computed before
    bounds: Floats | None = field(default=None, kw_only=True)  # m, of variances, where questions go by these
    own: Callable[[Indices], Floats] | None = field(default=None, kw_only=True)  # k(x, x) of pool items less the bias

    likelihood: ClassVar[Likelihood] = "gaussian"

    def __len__(self) -> int:
        return len(self.variance)

    @property
    def doubt(self) -> Floats:
        """The variance that questions go by, m: the exact one, or an upper bound of it."""
        return self.variance if self.bounds is None else self.bounds

    @property
    def spread(self) -> Floats:
        """sqrt(noise + variance), m: the standard deviation of a target."""
        return np.sqrt(self.noise + self.doubt)

    @property
    def prior(self) -> Floats:
        """k(x, x) less the bias, m: what the variance is, up to the bias, where nothing is known."""
        if self.own is None:
            raise ValueError("this state has no prior variance, which novelty is a share of")
        return self.own(self.rows)

    @property
    def margin(self) -> Floats:
        """|mu| for one or two classes; the gap between the best and the second-best mean for more."""
        if self.mean.shape[1] <= 2:
            return np.abs(self.mean[:, -1])
        means, out = np.ascontiguousarray(self.mean), np.empty(len(self.mean))
        over_slices(lambda lo, hi: scores.lead(means, out, lo, hi), len(out), means.size)
        return out

    @property
    def probabilities(self) -> Floats:
        """Of the classes, m x M."""
        return probit(self.mean, self.spread**2)

    @property
    def odds(self) -> Floats:
        """The log of the odds that an item is a wanted one, m."""
        return log_odds(self.mean, self.wanted)

    @property
    def information(self) -> Floats:
        """What the answer would tell of the functions: its entropy less what noise alone explains (Houlsby 2011)."""
        c = np.sqrt(np.pi * np.log(2.0) / 2.0)
        mu, var = self.mean / np.sqrt(self.noise), (self.variance / self.noise)[:, None]
        p = ndtr(mu / np.sqrt(var + 1.0))
        total = -(xlogy(p, p) + xlogy(1.0 - p, 1.0 - p)) / np.log(2.0)
        noise = c / np.sqrt(var + c**2) * np.exp(-(mu**2) / (2.0 * (var + c**2)))
        return np.asarray((total - noise).sum(axis=1))

    @property
    def surprises(self) -> Floats:
        """|y - mu| summed over the columns, for each class that may be the answer; m x M."""
        others = np.abs(-1.0 - self.mean)  # only the answer's own column is +1
        return np.asarray(others.sum(axis=1, keepdims=True) - others + np.abs(1.0 - self.mean))

    @property
    def to_reference(self) -> Floats:
        """Posterior covariance with the reference, m x R."""
        return self.covariance(self.rows, self.reference)

    @property
    def likeness(self) -> Floats:
        """Prior covariance with the reference, m x R."""
        return self.kernel(self.rows, self.reference)

    @property
    def covered(self) -> Floats | None:
        """How much each item of the reference is like a labelled one, R; None without labels."""
        return self.kernel(self.reference, self.labelled).max(axis=1) if len(self.labelled) else None

    @property
    def doubts(self) -> Floats:
        """The probability that the predicted class of each item of the reference is wrong, R."""
        return error_probabilities(class_probabilities(self._around, self.likelihood))

    @property
    def ahead(self) -> LookAhead:
        """What an answer about each item would change at the reference."""
        if self.looked is not None:
            return self.looked
        return LookAhead.of(
            self.rows,
            self.reference,
            self.items,
            self._around,
            self.likelihood,
            self.noise,
            self.covariances,
            self.costs,
            self.latent,
        )

    @property
    def latent(self) -> Floats | None:
        """Variances by which the answer about each item moves means, if they are not those of the items; m."""
        return None

    @property
    def items(self) -> Items:
        """The posterior of the items, or those of the trees of a forest."""
        return one_posterior(self.mean, self.variance, self.noise)

    def covariances(self, rows: Indices, columns: Indices) -> Floats:
        """Posterior covariance of pool items by each of them, T x rows x columns."""
        return self.covariance(rows, columns)[None]

    @property
    def _around(self) -> Items:
        if self.around is None:
            raise ValueError("this state has no posterior of the reference, which a look ahead needs")
        return self.around

    def take(self, places: Indices) -> "PoolState":
        """The items at these places alone."""
        return replace(
            self,
            mean=self.mean[places],
            variance=self.variance[places],
            rows=self.rows[places],
            bounds=None if self.bounds is None else self.bounds[places],
            looked=None if self.looked is None else self.looked.take(places),
        )

    def looking(self) -> "PoolState":
        """The same, which computes what is ahead once."""
        return replace(self, looked=self.ahead)

    def asked(self, rows: Indices, variance: Floats) -> "PoolState":
        """The same items once some are asked about: less uncertain, and these count as labelled."""
        looked = None if self.looked is None else self.looked.asked(rows)
        bounds = None if self.bounds is None else self.bounds - (self.variance - variance)  # of what is left
        known = np.append(self.labelled, rows)
        return replace(self, variance=variance, bounds=bounds, labelled=known, looked=looked)
