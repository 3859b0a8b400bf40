"""`make campaign DATA=folder`: learning curves on real data, side by side with scikit-activeml in the same run.

Prints a table: test accuracy after 50, 100 and 200 labels, mean of some repeats, and milliseconds from a label to the
next question. Pools are cut to 2,000 items and tests to 2,000 rows, so that the others finish.
"""

import sys
import time
import warnings
from pathlib import Path

import numpy as np
from skactiveml.classifier import SklearnClassifier
from skactiveml.pool import UncertaintySampling
from sklearn.datasets import load_digits
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from app.commands.labelled_files import read_dataset
from core import _jit
from core.experiments.simulation import Dataset, default_settings, play

BUDGETS = (50, 100, 200)
OURS = ("random", "mean", "unc", "unc+", "entropy", "bald", "variance", "density")
REPEATS = 3
ROWS = 2000
FILES = ("satimage", "letter", "pendigits", "shuttle", "adult", "reuters_r8", "scene15_bovw200")
GP_SECONDS = 40.0


def checker_board(seed=0, per_sector=200, tests=750):
    """Freytag2012, section 6.5: 2 x 2 sectors, positions and a third dimension that makes rows sum to 1."""
    rng = np.random.default_rng(seed)

    def draw(n):
        sectors = np.repeat(np.arange(4), n)
        points = (rng.random((4 * n, 2)) + np.column_stack([sectors % 2, sectors // 2])) / 4
        return np.column_stack([points, 1.0 - points.sum(axis=1)]), (sectors % 2 + sectors // 2) % 2

    x, y = draw(per_sector)
    x_test, y_test = draw(tests)
    return Dataset(x, y, x_test, y_test, 2)


def digits(seed=0):
    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(y))
    x, y = (x / x.sum(axis=1, keepdims=True))[order], y[order]
    return Dataset(x[:1200], y[:1200], x[1200:], y[1200:], 10)


def cut(dataset, name, seed=0):
    rng = np.random.default_rng(seed)
    a, b = rng.permutation(len(dataset.y))[:ROWS], rng.permutation(len(dataset.y_test))[:ROWS]
    x, x_test = dataset.x[a], dataset.x_test[b]
    if name in ("reuters_r8", "scene15_bovw200"):
        x, x_test = (part / np.maximum(part.sum(axis=1, keepdims=True), 1e-12) for part in (x, x_test))
    return Dataset(x, dataset.y[a], x_test, dataset.y_test[b], dataset.n_classes)


def ours(dataset, strategy, initial):
    """Accuracy at the budgets and milliseconds a label; settings by looking at the data, as the command does."""
    accuracies, spent, labels = [], 0.0, 0
    for repeat in range(REPEATS):
        start = time.perf_counter()
        settings = default_settings(dataset.x)
        points = dict(play(dataset, strategy, BUDGETS[-1], settings=settings, seed=repeat, initial=initial))
        spent += time.perf_counter() - start
        labels += BUDGETS[-1]
        known = np.array(sorted(points))
        accuracies.append([points[known[np.argmin(np.abs(known - budget))]] for budget in BUDGETS])
    return np.mean(accuracies, axis=0), 1000 * spent / labels


def theirs(dataset, classifier, repeats, limit=np.inf):
    """scikit-activeml: uncertainty sampling, the model fitted again after each label."""
    scale = StandardScaler().fit(dataset.x)
    x, x_test = scale.transform(dataset.x), scale.transform(dataset.x_test)
    accuracies, spent, labels, begun = [], 0.0, 0, time.perf_counter()
    for repeat in range(repeats):
        rng = np.random.default_rng(repeat)
        y = np.full(len(x), np.nan)
        model = SklearnClassifier(classifier(), classes=np.arange(dataset.n_classes), random_state=repeat)
        strategy = UncertaintySampling(method="margin_sampling", random_state=repeat)
        first = rng.permutation(len(x))[: dataset.n_classes]
        y[first] = dataset.y[first]
        row = []
        for n in range(len(first) + 1, BUDGETS[-1] + 1):
            start = time.perf_counter()
            item = strategy.query(x, y, clf=model, fit_clf=True)[0]
            y[item] = dataset.y[item]
            spent += time.perf_counter() - start
            labels += 1
            if n in BUDGETS:
                row.append(float(np.mean(model.fit(x, y).predict(x_test) == dataset.y_test)))
            if time.perf_counter() - begun > limit:
                return None, 1000 * spent / labels
        accuracies.append(row)
    return np.mean(accuracies, axis=0), 1000 * spent / labels


def main():
    warnings.simplefilter("ignore")
    _jit.compile_all()
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("../shared/data")
    datasets = {"checker board": checker_board(), "digits": digits()}
    datasets |= {name: cut(read_dataset(folder / f"{name}.npz"), name) for name in FILES}
    datasets = {name: datasets[name] for name in sys.argv[2:] or datasets}
    heads = [*OURS, "LR margin (scikit-activeml)", "sklearn GP margin (scikit-activeml)"]
    print("| data | " + " | ".join(heads) + " | ms a label: ours (unc), LR, GP |", flush=True)
    print("| --- " * (len(heads) + 2) + "|", flush=True)
    for name, dataset in datasets.items():
        initial = 16 if name == "checker board" else 0  # eight a class, as in Freytag2012
        results = {strategy: ours(dataset, strategy, initial) for strategy in OURS}
        results["lr"] = theirs(dataset, lambda: LogisticRegression(max_iter=300), 1)
        results["gp"] = theirs(dataset, lambda: GaussianProcessClassifier(RBF(3.0), optimizer=None), 1, GP_SECONDS)
        cells = [
            " / ".join(f"{100 * a:.1f}" for a in acc) if acc is not None else "too slow" for acc, _ in results.values()
        ]
        pace = ", ".join(f"{results[key][1]:.1f}" for key in ("unc", "lr", "gp"))
        print(f"| {name} | " + " | ".join(cells) + f" | {pace} |", flush=True)


if __name__ == "__main__":
    main()
