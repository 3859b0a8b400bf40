"""Mean and variance of pool items, moved by labels."""

from core._jit.compile import BLOCK, INDEX, NUMBER, VECTOR, check_slice, kernel
from core._types import Floats


@kernel((BLOCK, BLOCK, NUMBER, BLOCK, VECTOR, INDEX, INDEX))
def move(halves: Floats, changes: Floats, weight: float, mean: Floats, variance: Floats, lo: int, hi: int) -> None:
    """mean += halves changes, variance -= weight |halves|^2 (never below zero), for rows lo to hi.

    Row by row, so that what comes out for an item does not depend on how the pool is cut.
    """
    check_slice(lo, hi, min(halves.shape[0], mean.shape[0], variance.size))
    check_slice(0, changes.shape[0], halves.shape[1])
    check_slice(0, changes.shape[1], mean.shape[1])
    for i in range(lo, hi):
        total = 0.0
        for j in range(changes.shape[0]):
            half = halves[i, j]
            total += half * half
            for m in range(changes.shape[1]):
                mean[i, m] += half * changes[j, m]
        variance[i] = max(variance[i] - weight * total, 0.0)
