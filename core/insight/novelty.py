"""From which novelty on an item is unlike everything labelled (core/DESIGN.md, section 5)."""

import numpy as np

from core._types import Floats
from core.models.base import MIN_SHARE
from core.probabilities import novelty

LEVEL = 0.01  # share of items like the labelled ones that may be called unlike them
LEAST = 19  # labels; of fewer the most novel one says little: 1 in 20 is more novel


def novelty_left_out(variances: Floats, noises: Floats, priors: Floats) -> Floats:
    """How unlike all other labelled rows each of n labelled ones is.

    Without its own label a row has the variance v / (1 - v / N), as the label takes v^2 / (v + N) away.

    >>> novelty_left_out(np.array([0.25]), np.array([0.5]), np.array([1.0])).tolist()
    [0.5]
    """
    return novelty(variances / np.clip(1.0 - variances / noises, MIN_SHARE, 1.0), priors)


def unlike_above(left_out: Floats) -> float | None:
    """The novelty above which a row is unlike everything labelled, from those of n labelled rows; None if n is small.

    A row like them is above it with probability LEVEL at most, or 1 / (n + 1) where n is smaller than 1 / LEVEL: each
    of n + 1 rows is as likely as the others to be the most novel one.

    >>> unlike_above(np.arange(18) / 18.0), unlike_above(np.arange(20) / 20.0), unlike_above(np.arange(399) / 400.0)
    (None, 0.95, 0.9875)
    """
    n = len(left_out)
    if n < LEAST:
        return None
    above = max(int(LEVEL * (n + 1)), 1)
    return float(np.partition(left_out, n - above)[n - above])
