"""Tables of two classes, beside an SVM and a random forest."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from tests.benchmarks.sight.curves import POOL, Result, add, asknext, by_margin, show

BUDGETS = (50, 100, 200)
FIRST = 20  # labels drawn at random, the same for all
CHECKPOINTS = 10  # of a curve to the whole pool

PIPELINES: dict[str, Callable] = {
    "SVC": lambda: make_pipeline(StandardScaler(), SVC()),
    "random forest": lambda: RandomForestClassifier(100, random_state=0),
}


def tables(folder: Path, seeds: int, only: str | None = None) -> None:
    """Sixty percent of at most 2,500 rows as the pool, up to 200 labels."""
    for name, x, y in tables_of(folder, only):
        curves: dict[str, list[Result]] = {}
        for seed in range(seeds):
            rows = np.random.default_rng(seed).permutation(len(y))[: POOL + 1000]
            budgets = [n for n in BUDGETS if n < int(0.6 * len(rows))]
            compare(x[rows], y[rows], budgets, curves)
        show(name, curves)


def whole_tables(folder: Path, seeds: int, only: str | None = None) -> None:
    """The protocol of Lu et al. 2023 (arXiv 2306.08954): 60 % of all rows are the pool, and all of it is labelled."""
    for name, x, y in tables_of(folder, only):
        curves: dict[str, list[Result]] = {}
        for seed in range(seeds):
            rows = np.random.default_rng(seed).permutation(len(y))
            budgets = np.linspace(FIRST, int(0.6 * len(y)), CHECKPOINTS).astype(int).tolist()
            compare(x[rows], y[rows], budgets, curves)
        show(name, curves, areas=True)


def compare(x, y, budgets: list[int], curves: dict[str, list[Result]]) -> None:
    """Add the curves of all sides on one split: the first 60 % of the rows are the pool."""
    cut, first = int(0.6 * len(y)), np.arange(FIRST)
    rows = [{f"c{d}": repr(float(value)) for d, value in enumerate(row)} for row in x]
    add(curves, "AskNext", asknext("table", rows[:cut], y[:cut], rows[cut:], y[cut:], first, budgets))
    for title, make in PIPELINES.items():
        add(curves, title, by_margin(make(), x[:cut], y[:cut], x[cut:], y[cut:], first, budgets))


def tables_of(folder: Path, only: str | None) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """(name, numbers, labels) of each set."""
    with np.load(folder / "binary_tables.npz") as arrays:
        names = [name.removesuffix("_X") for name in arrays.files if name.endswith("_X")]
        for name in names:
            if only in (None, name):
                yield name, np.asarray(arrays[f"{name}_X"], dtype=float), arrays[f"{name}_y"].astype(str)
