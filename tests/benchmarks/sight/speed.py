"""A label and the next question at 100,000 items: the sums that texts have by default beside plain intersection."""

from pathlib import Path
from time import perf_counter, process_time

import numpy as np

from core import OnlineLearner, Settings, _jit, share_cores
from tests.benchmarks.rows import seconds
from tests.benchmarks.updates import ITEMS, LABELS, kinds, table_of

ROUNDS = 30


def speed(folder: Path, seeds: int, only: str | None = None) -> None:
    """Medians in one process, taken in turns, of words with some 128 non-zeros a row and ten classes."""
    _jit.compile_all()
    share_cores()
    every, x, y = kinds()
    learners = {}
    for title, settings in every.items():
        if only not in (None, title):
            continue
        learner = OnlineLearner(Settings(noise=0.1, **settings), [str(c) for c in range(10)])
        learner.add_items(table_of(settings, x, y))
        learner.label_many({i: str(y[i]) for i in range(LABELS)})
        learners[title] = learner
    took: dict[str, list[list[float]]] = {title: [] for title in learners}
    for _ in range(ROUNDS):
        for title, learner in learners.items():
            clocks = [_clocks()]
            item = learner.query(1)[0].row
            clocks.append(_clocks())
            learner.label(item, str(y[item]))
            clocks.append(_clocks())
            took[title].append(np.diff(clocks, axis=0).ravel().tolist())
    print(f"\n{ITEMS:,} items, {LABELS:,} labels, medians of {ROUNDS}: label + question, processor time and wall time")
    medians = {title: np.median(rounds, axis=0) for title, rounds in took.items()}
    base = next(iter(medians.values()))
    for title, (asked, waited, learnt, waited_longer) in medians.items():
        ratio = (asked + learnt) / (base[0] + base[2])
        print(
            f"  {title:48s} {seconds(learnt)} + {seconds(asked)} ({ratio:.2f} of the first)   "
            f"{seconds(waited_longer)} + {seconds(waited)}",
            flush=True,
        )


def _clocks() -> tuple[float, float]:
    """Processor time of all threads, and the time that a person waits."""
    return process_time(), perf_counter()
