"""Numbers drawn for items: each depends on a seed and the item alone, not on how the pool is cut."""

import numpy as np
from numpy.typing import NDArray

from core._types import Floats, Indices

EARLY, EARLY_SHARE, LEAST_SHARE = 100, 0.2, 0.05  # labels, the share of draws among them, and the least later
NEAR_SHARE = 0.5  # where a target may be met, and more draws are needed to be sure
TIES, RANDOM, EXPLORED = 1, 2, 3  # what a number is for
STEP, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB  # of splitmix64 (Steele 2014)
MASK = (1 << 64) - 1


def random_share(labels: int) -> float:
    """The share of items to draw at random with so many labels: a fifth of the first hundred, then fewer.

    >>> [round(random_share(n), 3) for n in (0, 99, 400, 10_000)]
    [0.2, 0.2, 0.1, 0.05]
    """
    return float(max(EARLY_SHARE * min(1.0, np.sqrt(EARLY / max(labels, 1))), LEAST_SHARE))


def drawn(seed: int, purpose: int, items: Indices) -> Floats:
    """A uniform number from 0 to 1 for each item.

    >>> drawn(7, TIES, np.array([3, 4])).round(3).tolist() == drawn(7, TIES, np.array([4, 3])).round(3).tolist()[::-1]
    True
    """
    stream = _mixed(np.array([(seed & MASK) ^ ((purpose * STEP) & MASK)], dtype=np.uint64))
    bits = _mixed(stream + (items.astype(np.uint64) + np.uint64(1)) * np.uint64(STEP))
    return np.asarray((bits >> np.uint64(11)) * 2.0**-53)


def _mixed(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    z = (z ^ (z >> np.uint64(30))) * np.uint64(FIRST)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(SECOND)
    return z ^ (z >> np.uint64(31))
