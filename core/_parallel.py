"""Fork and join over slices: kernels run without the GIL on plain Python threads.

There is no shared pool and no numba threading layer, so any number of Python threads may call at once. Every slice of
the output belongs to one thread, so results do not depend on how many threads there are.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

GRAIN = 1_000_000  # entries of work below which a thread costs more than it saves


def threads() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def over_slices(run: Callable[[int, int], object], n: int, work: float) -> None:
    """Call `run(lo, hi)` so that the slices cover range(n), in as many threads as `work` entries are worth.

    >>> out = np.zeros(5)
    >>> over_slices(lambda lo, hi: out[lo:hi].fill(1.0), 5, work=5)
    >>> out.tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0]
    """
    parts = _parts(n, work)
    over_cuts(run, [n * part // parts for part in range(parts + 1)])


def over_balanced(run: Callable[[int, int], object], cost: NDArray[Any]) -> None:
    """Like `over_slices` over range(len(cost)), with slices of about equal total cost."""
    total = float(cost.sum())
    parts = _parts(len(cost), total)
    shares = np.cumsum(cost)
    inner = np.searchsorted(shares, [total * part / parts for part in range(1, parts)])
    over_cuts(run, [0, *(int(cut) for cut in inner), len(cost)])


def over_cuts(run: Callable[[int, int], object], cuts: Sequence[int]) -> None:
    """Call `run` for each pair of neighbouring cuts, all at once; the first in the calling thread."""
    if len(cuts) < 3:
        run(cuts[0], cuts[-1])
        return
    with ThreadPoolExecutor(len(cuts) - 2) as executor:
        others = [executor.submit(run, lo, hi) for lo, hi in pairwise(cuts[1:])]
        run(cuts[0], cuts[1])
        for other in others:
            other.result()


def _parts(n: int, work: float) -> int:
    return max(1, min(n, threads(), int(work // GRAIN) + 1))
