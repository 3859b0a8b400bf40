"""Rows down a decision tree."""

import numpy as np
from numba import types
from numpy.typing import NDArray

from core._jit.compile import INDEX, INDICES, OUTSIDE, VECTOR, check_index, check_slice, kernel
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
    check_slice(lo, hi, min(x.shape[0], out.size))
    n_nodes = min(feature.size, threshold.size, left.size, right.size)
    check_index(0, n_nodes)
    for i in range(lo, hi):
        node = 0
        while feature[node] >= 0:
            check_index(feature[node], x.shape[1])
            child = left[node] if x[i, feature[node]] <= threshold[node] else right[node]
            if child <= node or child >= n_nodes:  # children stand behind their parents: the way down ends
                raise IndexError(OUTSIDE)
            node = child
        out[i] = node
