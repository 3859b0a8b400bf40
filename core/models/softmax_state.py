"""What a strategy may look at under the softmax likelihood."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import ndtri, softmax, xlogy

from core._types import Floats, Indices
from core.models.state import Columns, PoolState
from core.probabilities import Likelihood, moderated_softmax

DRAWS = 32  # of the functions, and as many mirrored
BLOCK = 1_000_000  # numbers at a time


@dataclass(frozen=True, eq=False)
class SoftmaxState(PoolState):
    """`mean` are centred latents; `variance` is that of every class function; `noise` is 1 / w of a typical item.

    (See core.softmax.laplace.) Every strategy scores it as it does label regression.
    """

    likelihood: ClassVar[Likelihood] = "softmax"
    laplace: tuple[Columns, Callable[[Indices], Floats]] | None = None  # covariance and variance of items, as it is now

    def covariances(self, rows: Indices, columns: Indices) -> Floats:
        """Posterior covariance of pool items, and the Laplace posterior of today, by which means move."""
        known = super().covariances(rows, columns)
        return known if self.laplace is None else np.concatenate([known, self.laplace[0](rows, columns)[None]])

    @property
    def latent(self) -> Floats | None:
        """Variances of the Laplace posterior of today, m."""
        return None if self.laplace is None else self.laplace[1](self.rows)

    @property
    def probabilities(self) -> Floats:
        """With the latents drawn together as far as they are uncertain (MacKay 1992)."""
        return moderated_softmax(self.mean, self.variance)

    @property
    def information(self) -> Floats:
        """Entropy of the mean probabilities less the mean entropy, over the same few draws for each item."""
        items, classes = self.mean.shape
        draws = _draws(classes)
        step = max(1, BLOCK // (len(draws) * classes))
        out = np.empty(items)
        for first in range(0, items, step):
            part = slice(first, first + step)
            spread = np.sqrt(self.variance[part])[:, None, None]
            p = softmax(self.mean[part][:, None, :] + spread * draws, axis=2)
            out[part] = _entropy(p.mean(axis=1)) - _entropy(p).mean(axis=1)
        return np.maximum(out, 0.0)

    @property
    def surprises(self) -> Floats:
        """|y - p| / w summed over the classes, for each that may be the answer."""
        return np.asarray(2.0 * (1.0 - self.probabilities) * self.noise)


def _draws(classes: int) -> Floats:
    """Standard normal numbers, evenly spread and mirrored: 2 DRAWS x classes, always the same."""
    from scipy.stats import qmc

    if classes > qmc.Sobol.MAXDIM:
        half = np.random.default_rng(0).normal(size=(DRAWS, classes))
    else:
        half = ndtri(np.clip(qmc.Sobol(classes, seed=0).random(DRAWS), 1e-6, 1.0 - 1e-6))
    return np.concatenate([half, -half])


def _entropy(p: Floats) -> Floats:
    return np.asarray(-xlogy(p, p).sum(axis=-1))
