"""Mean and variance of pool items, moved by labels."""

from core._jit.compile import BLOCK, INDEX, NUMBER, VECTOR, check_slice, kernel
from core._types import Floats


@kernel((BLOCK, BLOCK, NUMBER, BLOCK, VECTOR, BLOCK, VECTOR, INDEX, INDEX))
def move(
    halves: Floats,
    changes: Floats,
    weight: float,
    mean: Floats,
    variance: Floats,
    moved_mean: Floats,
    moved_variance: Floats,
    lo: int,
    hi: int,
) -> float:
    """moved_mean = mean + halves changes, moved_variance = variance - weight |halves|^2 (not below 0), rows lo to hi.

    Row by row, so that what comes out for an item does not depend on how the pool is cut. Returns the sum of all that
    came out, which is finite only if everything is.
    """
    check_slice(lo, hi, min(halves.shape[0], mean.shape[0], variance.size, moved_mean.shape[0], moved_variance.size))
    check_slice(0, changes.shape[0], halves.shape[1])
    check_slice(0, changes.shape[1], min(mean.shape[1], moved_mean.shape[1]))
    total = 0.0
    for i in range(lo, hi):
        for m in range(changes.shape[1]):
            moved_mean[i, m] = mean[i, m]
        squares = 0.0
        for j in range(changes.shape[0]):
            half = halves[i, j]
            squares += half * half
            for m in range(changes.shape[1]):
                moved_mean[i, m] += half * changes[j, m]
        moved_variance[i] = max(variance[i] - weight * squares, 0.0)
        total += moved_variance[i]
        for m in range(changes.shape[1]):
            total += moved_mean[i, m]
    return total
