"""Tables of two classes, beside an SVM and a random forest."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from tests.benchmarks.sight.curves import (
    POOL,
    Batch,
    Kept,
    Result,
    add,
    area,
    asknext,
    by_margin,
    growing,
    one,
    refits,
    show,
)

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
            for title, run in sides(x[rows], y[rows], budgets, one, refits).items():
                add(curves, title, run())
        show(name, curves)


def whole_tables(folder: Path, seeds: int, only: str | None = None, keep: Path | None = None) -> None:
    """The protocol of Lu et al. 2023 (arXiv 2306.08954): 60 % of all rows are the pool, and all of it is labelled.

    All sides ask in batches of a twentieth of what they know. Runs are kept in a file, smallest tables first.
    """
    kept, leads = Kept(keep), dict.fromkeys(PIPELINES, 0.0)
    everything = sorted(tables_of(folder, only), key=lambda table: table[1].size)
    for name, x, y in everything:
        curves: dict[str, list[Result]] = {}
        for seed in range(seeds):
            rows = np.random.default_rng(seed).permutation(len(y))
            budgets = np.linspace(FIRST, int(0.6 * len(y)), CHECKPOINTS).astype(int).tolist()
            for title, run in sides(x[rows], y[rows], budgets, growing, growing).items():
                add(curves, title, kept.run((name, seed, title), run))
        show(name, curves, areas=True)
        for title in leads:
            lead = np.mean([area(a) - area(b) for a, b in zip(curves["AskNext"], curves[title], strict=True)])
            leads[title] += float(lead) / len(everything)
    for title, lead in leads.items():
        print(
            f"mean over {len(everything)} tables of AskNext's area less that of {title}: {100 * lead:+.1f}", flush=True
        )


def sides(x, y, budgets: list[int], ours: Batch, theirs: Batch) -> dict[str, Callable[[], Result]]:
    """How to run each side on one split: the first 60 % of the rows are the pool."""
    cut, first = int(0.6 * len(y)), np.arange(FIRST)
    rows = [{f"c{d}": repr(float(value)) for d, value in enumerate(row)} for row in x]
    given = y[:cut], rows[cut:], y[cut:], first, budgets
    runs: dict[str, Callable[[], Result]] = {"AskNext": lambda: asknext("table", rows[:cut], *given, batch=ours)}
    for title, make in PIPELINES.items():
        numbers = y[:cut], x[cut:], y[cut:], first, budgets, theirs
        runs[title] = lambda make=make, numbers=numbers: by_margin(make(), x[:cut], *numbers)  # type: ignore[misc]
    return runs


def tables_of(folder: Path, only: str | None) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """(name, numbers, labels) of each set."""
    with np.load(folder / "binary_tables.npz") as arrays:
        names = [name.removesuffix("_X") for name in arrays.files if name.endswith("_X")]
        for name in names:
            if only in (None, name):
                yield name, np.asarray(arrays[f"{name}_X"], dtype=float), arrays[f"{name}_y"].astype(str)
