"""What a benchmark prints: a line per measurement, with what it is compared to in the same run."""

import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Row:
    what: str
    measured: str
    compared: str = ""
    ratio: str = ""
    aim: str = ""


def measure(section: Callable[[], Iterator[Row]]) -> list[Row]:
    """All rows of a section; runs in a process of its own."""
    return list(section())


def timed(run: Callable[[], object], repeats: int = 1) -> float:
    """Seconds of the fastest of some runs: the others were disturbed."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best


def spent(run: Callable[[], T]) -> tuple[float, T]:
    """Processor seconds of a run, and what it gave: the machine may be shared."""
    start = time.process_time()
    result = run()
    return time.process_time() - start, result


def seconds(value: float) -> str:
    for limit, scale, unit in ((1e-3, 1e6, "us"), (1.0, 1e3, "ms")):
        if value < limit:
            return f"{value * scale:.3g} {unit}"
    return f"{value:.2f} s"


def times(slow: float, fast: float) -> str:
    return f"{slow / fast:.3g}x"


def peak_memory() -> float:
    """GiB this process has held at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
