"""`python -m tests.benchmarks.freytag DATA [section ...]`: the experiments of Freytag2012 on data at hand.

Sections: board (6.5), rest (one class against others, 6.5), weighing (unc+ of many classes), one-class (6.3), unlike
(how often rows are called unlike anything so far), cost (processor time of 1,000 rows). All that is compared in a row
of a table saw the same pool, the same first labels and the same test rows; +- is a standard error over the runs.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from scipy.stats import rankdata
from sklearn.datasets import load_digits
from sklearn.svm import OneClassSVM

from core import GPHIKClassifier, OnlineLearner, Settings, _jit
from core._types import Floats, Indices
from core.models.state import PoolState
from core.queries import Strategy
from core.queries.plugins import every_strategy
from core.variance import VarianceName
from tests.benchmarks.data import word_histograms

SETTINGS = Settings(noise=0.1, levels=None)  # of histograms whose rows sum to 1
TUNED = (10, 20, 40, 80, 160)  # labels at which hyperparameters are found
ASKED = 50
ARMS: dict[str, tuple[str, VarianceName]] = {
    "random": ("random", "exact"),
    "mean": ("mean", "exact"),
    "variance": ("variance", "exact"),
    "variance, rapu": ("variance", "rapu"),
    "unc": ("unc", "exact"),
    "unc+": ("unc+", "exact"),
    "unc+, fapu": ("unc+", "fapu"),
    "unc+, rapu": ("unc+", "rapu"),
}


@dataclass(frozen=True, eq=False)
class Task:
    """A pool with its truth, items that have labels from the start, and rows to test on."""

    x: Floats
    y: Indices  # class numbers
    first: Indices
    x_test: Floats
    y_test: Indices


def area(scores: Floats, wanted: Floats) -> float:
    """Area under the ROC curve of scores that are large where something is wanted."""
    wanted = wanted.astype(bool)
    ranks, positives = rankdata(scores), int(wanted.sum())
    return float((ranks[wanted].sum() - positives * (positives + 1) / 2) / (positives * (~wanted).sum()))


def shares(x: Floats) -> Floats:
    """Rows that sum to 1."""
    return np.asarray(x / np.maximum(x.sum(axis=1, keepdims=True), 1e-12), dtype=float)


def digits(_: Path) -> tuple[Floats, Indices, Floats, Indices]:
    """1,797 digits of 64 pixels: 60 % to learn from, the others to test."""
    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    cut = int(0.6 * len(y))
    return shares(x[order[:cut]]), y[order[:cut]], shares(x[order[cut:]]), y[order[cut:]]


def scenes(folder: Path) -> tuple[Floats, Indices, Floats, Indices]:
    """15 scenes of 200 visual words, 100 a class to learn from."""
    with np.load(folder / "scene15_bovw200.npz") as arrays:
        parts = [arrays[name] for name in ("X_train", "y_train", "X_test", "y_test")]
    names = np.unique(parts[1])
    y, y_test = (np.searchsorted(names, part) for part in (parts[1], parts[3]))
    return shares(parts[0]), y, shares(parts[2]), y_test


SETS = {"digits": digits, "scenes": scenes}


def board(seed: int, per_sector: int = 200, tests: int = 750) -> Task:
    """2 x 2 sectors, positions and a third dimension that makes rows sum to 1; eight labels a class."""
    rng = np.random.default_rng(seed)

    def draw(n: int) -> tuple[Floats, Indices]:
        sectors = np.repeat(np.arange(4), n)
        points = (rng.random((4 * n, 2)) + np.column_stack([sectors % 2, sectors // 2])) / 4
        return np.column_stack([points, 1.0 - points.sum(axis=1)]), (sectors % 2 + sectors // 2) % 2

    (x, y), test = draw(per_sector), draw(tests)
    first = np.concatenate([rng.permutation(np.flatnonzero(y == label))[:8] for label in range(2)])
    return Task(x, y, first, *test)


def against(data: tuple[Floats, Indices, Floats, Indices], others: int, seed: int) -> Task:
    """A class drawn at random against some others; two labels for each of them."""
    x, y, x_test, y_test = data
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(np.unique(y))[: others + 1]
    rows, tests = np.flatnonzero(np.isin(y, chosen)), np.flatnonzero(np.isin(y_test, chosen))
    first = [rng.permutation(np.flatnonzero(y[rows] == label))[:2] for label in chosen]
    wanted, wanted_test = y[rows] == chosen[0], y_test[tests] == chosen[0]
    return Task(x[rows], wanted.astype(int), np.concatenate(first), x_test[tests], wanted_test.astype(int))


def curve(
    task: Task, arm: tuple[str, VarianceName], seed: int, marks: tuple[int, ...], score: Callable[..., float]
) -> list[float]:
    """Score after so many questions."""
    strategy, variance = arm
    learner, found = OnlineLearner(SETTINGS, [str(c) for c in range(int(task.y.max()) + 1)]), []
    learner.add_items(task.x)
    learner.label_many({int(item): str(task.y[item]) for item in task.first})
    if len(task.first) >= TUNED[0]:
        learner.tune()
    for n in range(marks[-1] + 1):
        if n in marks:
            found.append(score(learner, task))
        if n == marks[-1]:
            break
        (pick,) = learner.query(1, strategy, seed=seed * 1_000_003 + n, variance=variance)
        learner.label(pick.row, str(task.y[pick.row]))
        if len(task.first) + n + 1 in TUNED:
            learner.tune()
    return found


def recognition(learner: OnlineLearner, task: Task) -> float:
    """The share of right classes, averaged over the classes, in percent."""
    right = learner.predict(task.x_test) == task.y_test
    return 100.0 * float(np.mean([right[task.y_test == label].mean() for label in np.unique(task.y_test)]))


def roc(learner: OnlineLearner, task: Task) -> float:
    """Area under the ROC curve of the mean, in percent."""
    return 100.0 * area(learner.predictive(task.x_test, "qfapu").mean[:, 1], task.y_test)


def error(values: Floats) -> Floats:
    """Standard error of the mean over runs, the first axis."""
    return np.asarray(values.std(axis=0, ddof=1) / np.sqrt(len(values)))


def table(head: str, heads: list[str], rows: Iterator[tuple[str, list[str]]]) -> None:
    """Row by row, as they are ready."""
    print(f"\n| {head} | " + " | ".join(heads) + " |", flush=True)
    print("| --- " * (len(heads) + 1) + "|", flush=True)
    for name, cells in rows:
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def curves(
    tasks: Callable[[int], Task], runs: int, marks: tuple[int, ...], score: Callable[..., float], arms: list[str]
) -> Iterator[tuple[str, list[str]]]:
    """A row for each arm: random as it is, others by what they have more, run by run."""
    known: dict[str, Floats] = {}
    for name in arms:
        values = np.array([curve(tasks(seed), ARMS[name], seed, marks, score) for seed in range(runs)])
        known[name] = values
        if name == "random":
            yield name, [f"{m:.2f} +- {e:.2f}" for m, e in zip(values.mean(axis=0), error(values), strict=True)]
        else:
            more = values - known["random"]
            yield name, [f"{m:+.2f} +- {e:.2f}" for m, e in zip(more.mean(axis=0), error(more), strict=True)]


def board_section(_: Path, runs: int, arms: list[str]) -> None:
    """Section 6.5, the checker board."""
    marks = (0, 10, 25, 50, 75, 100)
    rows = curves(board, runs, marks, recognition, arms)
    table(f"checker board, {runs} runs, after", [str(m) for m in marks], rows)


def rest_section(folder: Path, runs: int, arms: list[str]) -> None:
    """Section 6.5, one class against others."""
    marks = (0, 10, 20, 30, ASKED)
    for name, numbers in (("digits", (9,)), ("scenes", (4, 14))):
        data = SETS[name](folder)
        for others in numbers:
            rows = curves(partial(against, data, others), runs, marks, roc, arms)
            table(f"{name}, one against {others}, {runs} runs, after", [str(m) for m in marks], rows)


def weighing_section(folder: Path, runs: int, _: list[str]) -> None:
    """unc+ of all classes, with the gap between the best two weighed in three ways."""
    marks = (0, 25, 50, 100)
    for name, weight in (("gap + deviation", 1.0), ("gap + 1.4 deviation", 2**-0.5), ("gap + 2 deviation", 0.5)):
        every_strategy()[name] = Strategy(_weighed(weight))
        ARMS[name] = (name, "exact")
    arms = ["random", "unc", "gap + deviation", "gap + 1.4 deviation", "gap + 2 deviation"]
    for name, load in SETS.items():
        x, y, x_test, y_test = load(folder)

        def task(seed: int, x=x, y=y, x_test=x_test, y_test=y_test) -> Task:
            rng = np.random.default_rng(seed)
            first = [rng.permutation(np.flatnonzero(y == label))[:2] for label in np.unique(y)]
            return Task(x, y, np.concatenate(first), x_test, y_test)

        rows = curves(task, runs, marks, recognition, arms)
        table(f"{name}, all classes, two labels each, {runs} runs, after", [str(m) for m in marks], rows)


def _weighed(weight: float) -> Callable[[PoolState, int], Floats]:
    return lambda state, _: weight * state.margin + state.spread


def one_class_section(folder: Path, runs: int, _: list[str]) -> None:
    """Section 6.3: labels of a single class, up to 100; who belongs to it is told from 50 of each class."""
    names = ["mean", "exact", "fapu, k = 2", "fapu, k = 8", "qfapu", "rapu", "qrapu", "SVM, RBF", "SVM, HIK"]

    def rows() -> Iterator[tuple[str, list[str]]]:
        for name, load in SETS.items():
            data = load(folder)
            classes = np.unique(data[1])
            found = np.array(
                [[list(one_class(data, label, seed).values()) for label in classes] for seed in range(runs)]
            ).mean(axis=0)  # classes x scores
            cells = [f"{m:.1f} +- {e:.1f}" for m, e in zip(found.mean(axis=0), error(found), strict=True)]
            yield f"{name}, {len(classes)} classes, {runs} draws each", cells
            more = found - found[:, [1]]
            yield "above exact", [f"{m:+.1f} +- {e:.1f}" for m, e in zip(more.mean(axis=0), error(more), strict=True)]
            yield "worst class", [f"{m:.1f}" for m in found.min(axis=0)]

    table("area under ROC, %", names, rows())


def one_class(data: tuple[Floats, Indices, Floats, Indices], label: int, seed: int) -> dict[str, float]:
    """Areas under the ROC curve, in percent, by the score."""
    x, y, x_test, y_test = data
    rng = np.random.default_rng([seed, int(label)])
    known = x[rng.permutation(np.flatnonzero(y == label))[:100]]
    rows = np.concatenate([rng.permutation(np.flatnonzero(y_test == other))[:50] for other in np.unique(y)])
    query, wanted = x_test[rows], y_test[rows] == label
    model = GPHIKClassifier(noise=0.1, levels=None).fit(known, np.zeros(len(known), dtype=int))
    scores = {"mean": model.means(query)[:, 0], "exact": -model.predict_variance(query)}
    for k in (2, 8):
        scores[f"fapu {k}"] = -model.predict_variance(query, method="fapu", k=k)
    for method in ("qfapu", "rapu", "qrapu"):
        scores[method] = -model.predict_variance(query, method=method)
    scores["svm"] = OneClassSVM().fit(known).decision_function(query)

    def kernel(a: Floats, b: Floats) -> Floats:
        return np.array([np.minimum(row, b).sum(axis=1) for row in a])

    scores["svm hik"] = (
        OneClassSVM(kernel="precomputed").fit(kernel(known, known)).decision_function(kernel(query, known))
    )
    return {name: 100.0 * area(score, wanted) for name, score in scores.items()}


def unlike_section(folder: Path, runs: int, _: list[str]) -> None:
    """A class that nobody has labelled: who is called unlike anything so far, by labels drawn or asked for."""

    def rows() -> Iterator[tuple[str, list[str]]]:
        for name, load in SETS.items():
            data = load(folder)
            for asked in (False, True):
                for n in (30, 100):
                    found = np.array([unlike(data, seed, n, asked) for seed in range(runs)])
                    cells = [f"{m:.1f} +- {e:.1f}" for m, e in zip(found.mean(axis=0), error(found), strict=True)]
                    yield f"{name}, {n} labels {'asked for' if asked else 'at random'}", cells

    table(f"%, {runs} runs", ["known called unlike", "unknown called unlike", "area under ROC of novelty"], rows())


def unlike(data: tuple[Floats, Indices, Floats, Indices], seed: int, n: int, asked: bool) -> list[float]:
    """Shares of test rows, of known classes and of the one without labels, that are called unlike; and an area."""
    x, y, x_test, y_test = data
    unknown = int(seed % len(np.unique(y)))
    x, y = x[y != unknown], y[y != unknown]
    learner = OnlineLearner(SETTINGS, [str(c) for c in np.unique(y)])
    learner.add_items(x)
    order = np.random.default_rng(seed).permutation(len(y))
    for i in range(n):
        item = learner.query(1, "unc", seed=seed * 1_000_003 + i)[0].row if asked else int(order[i])
        learner.label(item, str(y[item]))
        if i + 1 in TUNED:
            learner.tune()
    novelty, above = learner.predictive(x_test).novelty, learner.publish().unlike_above
    assert novelty is not None
    assert above is not None
    called, new = novelty > above, y_test == unknown
    return [100.0 * called[~new].mean(), 100.0 * called[new].mean(), 100.0 * area(novelty, new)]


def cost_section(_: Path, runs: int, __: list[str]) -> None:
    """Processor time of 1,000 raw rows, and how far above the exact variance a bound is."""
    names: list[VarianceName] = ["exact", "fapu", "qfapu", "rapu", "qrapu"]

    def rows() -> Iterator[tuple[str, list[str]]]:
        for n, posterior in ((500, "dual"), (2000, "dual"), (8000, "dual"), (8000, "levels")):
            x, y = word_histograms(n + 1000, n_dims=1000)
            model = GPHIKClassifier(noise=0.1, posterior=posterior).fit(x[:n], y[:n])
            query, spent, values = x[n:] * 0.97, [], []
            for name in names:
                model.predict_variance(query[:2], method=name)  # finds eigenpairs and builds tables, once for a model
                times = []
                for _ in range(max(3, runs // 10)):
                    begun = time.process_time()
                    found = model.predict_variance(query, method=name)
                    times.append(time.process_time() - begun)
                spent.append(float(np.median(times)))
                values.append(float(found.mean()))
            cells = [f"{1000 * s:.1f} ms, {v:.3f}" for s, v in zip(spent, values, strict=True)]
            begun = time.process_time()
            fresh = GPHIKClassifier(noise=0.1, posterior=posterior).fit(x[:n], y[:n])
            begun = time.process_time()
            fresh.predict_variance(query[:2], method="fapu")
            yield f"{n} labels, {posterior}", [*cells, f"{1000 * (time.process_time() - begun):.0f} ms"]

    table("1,000 raw rows: time, mean variance", [*names, "eigenpairs"], rows())


SECTIONS: dict[str, Callable[[Path, int, list[str]], None]] = {
    "board": board_section,
    "rest": rest_section,
    "weighing": weighing_section,
    "one-class": one_class_section,
    "unlike": unlike_section,
    "cost": cost_section,
}
RUNS = {"board": 100, "rest": 20, "weighing": 5, "one-class": 5, "unlike": 10, "cost": 30}


def main() -> None:
    """The sections that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []], default=[])
    parser.add_argument("--runs", type=int, help="instead of those of each section")
    parser.add_argument("--arms", nargs="*", choices=list(ARMS), default=list(ARMS), help="in board and rest")
    given = parser.parse_args()
    _jit.compile_all()
    for name in given.sections or SECTIONS:
        SECTIONS[name](given.folder, given.runs or RUNS[name], given.arms)


if __name__ == "__main__":
    main()
