"""Numbers drawn for items: each depends on a seed and the item alone, not on how the pool is cut."""

import numpy as np
from numpy.typing import NDArray

from core._types import Floats, Indices

TIES, RANDOM, EXPLORED = 1, 2, 3  # what a number is for
STEP, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB  # of splitmix64 (Steele 2014)
MASK = (1 << 64) - 1


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
