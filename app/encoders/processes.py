"""Work on many files in several processes; a file that ends its process is found, and spoils nothing else."""

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from threadpoolctl import threadpool_limits

Item = TypeVar("Item")
Result = TypeVar("Result")
Work = Callable[[Sequence[Item]], Sequence[Result]]

PORTION = 16
WORTHWHILE = 100  # items for which another process is worth its start


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processes_for(n_items: int) -> int:
    """How many processes: as many as there are cores, but none that would have little to do."""
    return min(cores(), max(1, n_items // WORTHWHILE))


def in_portions(
    work: Work[Item, Result], items: Sequence[Item], processes: int, lost: Callable[[], Result]
) -> Iterator[tuple[int, Sequence[Result]]]:
    """The results of each portion of the items, with the place of its first one, in the order they get done.

    `work` and the items go to other processes and must be picklable. Where one process is enough nothing is started.
    An item whose process dies has the result `lost()`.
    """
    portions = {first: items[first : first + PORTION] for first in range(0, len(items), PORTION)}
    if min(processes, len(portions)) <= 1:
        for first, portion in portions.items():
            yield first, work(portion)
        return
    interrupted = []
    with _pool(min(processes, len(portions))) as pool:
        try:
            futures: dict[Future[Sequence[Result]], int] = {}
            for first, portion in portions.items():
                futures[pool.submit(work, portion)] = first
            for future in as_completed(futures):
                try:
                    yield futures[future], future.result()
                except BrokenProcessPool:
                    interrupted.append(futures[future])
        finally:
            pool.shutdown(cancel_futures=True)
    for first in sorted(interrupted):
        yield first, _alone(work, portions[first], lost)


def _alone(work: Work[Item, Result], items: Sequence[Item], lost: Callable[[], Result]) -> Sequence[Result]:
    """Work in a process of its own, by halves, until the item that ends it is alone."""
    try:
        with _pool(1) as pool:
            return pool.submit(work, items).result()
    except BrokenProcessPool:
        if len(items) == 1:
            return [lost()]
    half = len(items) // 2
    return [*_alone(work, items[:half], lost), *_alone(work, items[half:], lost)]


def _pool(processes: int) -> ProcessPoolExecutor:
    """Processes of a server that has done the imports: not forks of this one, whose threads may hold locks."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["app.encoders.image"])
    return ProcessPoolExecutor(processes, context, initializer=_give_way)


def _give_way() -> None:
    """Processes are as many as cores, so each needs one thread; people who wait for an answer come first."""
    threadpool_limits(1)
    os.nice(10)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A parent that was killed could not tell its processes to end, and they would wait for work for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
