"""Rows down a decision tree."""

import numpy as np
from numba import types
from numpy.typing import NDArray

from core._jit.compile import INDEX, INDICES, VECTOR, kernel
from core._types import Floats, Indices

NARROW_BLOCK = types.Array(types.float32, 2, "C")


@kernel((NARROW_BLOCK, INDICES, VECTOR, INDICES, INDICES, INDICES, INDEX, INDEX))
def route(
    x: NDArray[np.float32],
    feature: Indices,
    threshold: Floats,
    left: Indices,
    right: Indices,
    out: Indices,
    lo: int,
    hi: int,
) -> None:
    """The node where each of the rows lo to hi ends; the feature of a leaf is negative."""
    for i in range(lo, hi):
        node = 0
        while feature[node] >= 0:
            node = left[node] if x[i, feature[node]] <= threshold[node] else right[node]
        out[i] = node
