"""Scores of all items of a pool."""

from core._jit.compile import BLOCK, INDEX, VECTOR, check_slice, kernel
from core._types import Floats


@kernel((BLOCK, VECTOR, INDEX, INDEX))
def lead(means: Floats, out: Floats, first: int, last: int) -> None:
    """out[row] = largest minus second largest mean, for rows from `first` to `last`; at least two columns."""
    check_slice(first, last, min(means.shape[0], out.size))
    check_slice(0, 2, means.shape[1])
    for row in range(first, last):
        best = max(means[row, 0], means[row, 1])
        second = min(means[row, 0], means[row, 1])
        for column in range(2, means.shape[1]):
            value = means[row, column]
            second = max(second, min(best, value))  # without a branch, which would be guessed wrong half the time
            best = max(best, value)
        out[row] = best - second
