"""A label and the next question at 100,000 items: the sum that texts have by default beside plain intersection."""

from pathlib import Path
from time import perf_counter

import numpy as np

from core import Channel, OnlineLearner, Settings
from tests.benchmarks.data import word_histograms
from tests.benchmarks.rows import seconds

ITEMS, KNOWN, ROUNDS = 100_000, 1_000, 30
HALVES = ((0, 500), (500, 1000))  # columns of words, and of characters
MODELS = {
    "plain intersection": Settings(noise=0.1),
    "normalised": Settings(noise=0.1, normalise=True),
    "sum of two normalised channels": Settings(
        noise=0.1, kernel=tuple(Channel(columns=half, normalise=True) for half in HALVES)
    ),
}


def speed(folder: Path, seeds: int, only: str | None = None) -> None:
    """Medians in one process, taken in turns, of words with some 128 non-zeros a row and ten classes."""
    x, y = word_histograms(ITEMS)
    learners = {}
    for title, settings in MODELS.items():
        learner = OnlineLearner(settings, [str(c) for c in range(10)])
        learner.add_items(x)
        learner.label_many({i: str(y[i]) for i in range(KNOWN)})
        learners[title] = learner
    spent: dict[str, list[tuple[float, float]]] = {title: [] for title in learners}
    for _ in range(ROUNDS):
        for title, learner in learners.items():
            begun = perf_counter()
            item = learner.query(1)[0].row
            asked = perf_counter()
            learner.label(item, str(y[item]))
            spent[title].append((perf_counter() - asked, asked - begun))
    print(f"\n{ITEMS:,} items, {KNOWN:,} labels: label + question, medians of {ROUNDS}; label and question together")
    medians = {title: np.median(np.array(times), axis=0) for title, times in spent.items()}
    base = medians["plain intersection"].sum()
    for title, (label, question) in medians.items():
        print(f"  {title:32s} {seconds(label)} + {seconds(question)}   {(label + question) / base:.2f} of plain")
