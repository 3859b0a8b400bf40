"""`make quality`: how good the softmax likelihood is on real data.

`python -m tests.benchmarks.quality FOLDER [name ...]` prints tables: `errors` (satimage with a kernel for each class;
`errors:5` for five partitions into folds), `trees` (imclef07d with and without its tree; `trees:5` for five draws),
`others` (letter and pendigits beside boosting and support vector machines), and for each set named the log loss, Brier
score and calibration error of softmax, regression and logistic regression side by side.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from app.commands.labelled_files import read_dataset
from core import GPHIKClassifier, _jit
from core.metrics import Quality
from tests.benchmarks.class_trees import imclef
from tests.benchmarks.rows import seconds, spent
from tests.benchmarks.satimage import satimage

HISTOGRAMS = ("reuters_r8", "scene15_bovw200")
CALIBRATED = ("satimage", "letter", "pendigits", "shuttle", "adult", "spam", *HISTOGRAMS, "imclef07d")
TREE_ROWS = (300, 800)
OTHERS = {"pendigits": (1000, 4000), "letter": (1000, 5000)}
ROWS = 1000
TESTS = 4000


def error(what, model, cost, n, name, x_test, y_test):
    """A line of the table of `others`."""
    wrong = (model.predict(x_test) != y_test).mean()
    print(f"| {name} | {what} | {n:,} | {100 * wrong:.2f} % | {seconds(cost)} |", flush=True)


def others(folder, name, sizes):
    """Error beside boosting and a support vector machine, on the same rows and, for these two, on all.

    Softmax and regression find hyperparameters on the first rows, and learn the others with these.
    """
    dataset = read_dataset(folder / f"{name}.npz")
    scale = StandardScaler().fit(dataset.x)
    x, x_test = scale.transform(dataset.x), scale.transform(dataset.x_test)
    order, all_rows = np.random.default_rng(0).permutation(len(x)), np.arange(len(x))
    ours = {
        "softmax, RBF": GPHIKClassifier("rbf", likelihood="softmax", tune="cv"),
        "regression, RBF": GPHIKClassifier("rbf", tune="loo"),
    }
    for what, model in ours.items():
        total = 0.0
        for first, last in zip((0, *sizes), sizes, strict=False):
            rows = order[first:last]
            learn = model.partial_fit if first else model.fit
            cost, _ = spent(lambda learn=learn, rows=rows: learn(x[rows], dataset.y[rows]))
            total += cost
            error(what, model, total, last, name, x_test, dataset.y_test)
    theirs = {"HistGradientBoosting": HistGradientBoostingClassifier, "SVC": lambda: SVC(C=10)}
    for what, make in theirs.items():
        for rows in (*(order[:n] for n in sizes), all_rows):
            cost, model = spent(lambda make=make, rows=rows: make().fit(x[rows], dataset.y[rows]))
            error(what, model, cost, len(rows), name, x_test, dataset.y_test)


def calibration(folder, name, n=ROWS):
    """A line for each way to get probabilities, on the same (sampled) rows."""
    dataset = read_dataset(folder / f"{name}.npz")
    rng = np.random.default_rng(1)
    rows, tests = rng.permutation(len(dataset.y))[:n], rng.permutation(len(dataset.y_test))[:TESTS]
    x, y, x_test, y_test = dataset.x[rows], dataset.y[rows], dataset.x_test[tests], dataset.y_test[tests]
    scale = StandardScaler().fit(x)
    plain, plain_test = scale.transform(x), scale.transform(x_test)
    kernel = "rbf"
    own, own_test = plain, plain_test
    if name in HISTOGRAMS:
        kernel = "hik"
        own, own_test = (part / np.maximum(part.sum(axis=1, keepdims=True), 1e-12) for part in (x, x_test))
    models = {
        "softmax": (GPHIKClassifier(kernel, likelihood="softmax", tune="cv").fit(own, y), own_test),
        "regression": (GPHIKClassifier(kernel, tune="loo").fit(own, y), own_test),
        "logistic regression": (LogisticRegression(max_iter=500).fit(plain, y), plain_test),
    }
    for what, (model, test) in models.items():
        p = np.zeros((len(test), dataset.n_classes))
        p[:, model.classes_] = model.predict_proba(test)
        q = Quality.of(p, y_test)
        figures = f"{q.accuracy:.4f} | {q.log_loss:.4f} | {q.brier:.4f} | {q.calibration_error:.4f}"
        print(f"| {name} | {what} | {figures} |", flush=True)


def main():
    warnings.simplefilter("ignore")
    _jit.compile_all()
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("../shared/data")
    asked = [part.partition(":") for part in sys.argv[2:] or ["errors:1", "trees:3", "others", *CALIBRATED]]
    chosen = {name: int(number or 3) for name, _, number in asked}
    if "errors" in chosen:
        satimage(folder, range(chosen["errors"]))
    if "trees" in chosen:
        imclef(folder, TREE_ROWS, chosen["trees"])
    if "others" in chosen:
        print("| data | model | rows | test error | processor |\n| --- | --- | --- | --- | --- |")
        for name, sizes in OTHERS.items():
            others(folder, name, sizes)
    sets = [name for name in chosen if name in CALIBRATED]
    if sets:
        print("| data | model | accuracy | log loss | Brier | calibration error |")
        print("| --- | --- | --- | --- | --- | --- |")
    for name in sets:
        calibration(folder, name)


if __name__ == "__main__":
    main()
