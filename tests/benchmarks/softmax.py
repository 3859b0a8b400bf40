"""Softmax likelihood: cost against regression, many classes; with a folder of data also error and calibration.

`python -m tests.benchmarks softmax` for the first part. `python -m tests.benchmarks.softmax FOLDER [name ...]` prints
tables of quality on real data: `errors` (satimage with a kernel for each class), `trees` (imclef07d with and without
its tree), `others` (letter and pendigits beside boosting and support vector machines), and for each set named the log
loss, Brier score and calibration error of softmax, regression and logistic regression side by side.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from app.commands.labelled_files import read_task
from core import GPHIKClassifier, _jit
from core.kernels import RBFKernel
from core.labels import class_names
from core.linalg import StoredOperator
from core.quality import Quality, error_reject_curve
from core.settings import Settings
from core.softmax import ClassTree, CrossValidation, Prior, Search, SoftmaxRegression, TreeScores, tune_prior
from tests.benchmarks.data import word_histograms
from tests.benchmarks.rows import Row, peak_memory, seconds, spent, times

HISTOGRAMS = ("reuters_r8", "scene15_bovw200")
CALIBRATED = ("satimage", "letter", "pendigits", "shuttle", "adult", "spam", *HISTOGRAMS)
STARTS = ((1.0, 10.0), (4.0, 20.0), (12.0, 20.0))  # widths (1 / gamma in units of the data's) and variances
TUNE_ROWS = (700, 1600)  # of searches with RBF kernels: from every start, then from the best
TREE_ROWS = ((800, 2500), (1200, 4000))  # to search with, to learn from
ROWS = 1000
TESTS = 4000


def words(n=10_000):
    """10 classes: a fit, and one more label, against label regression on the same rows."""
    _jit.compile_all()
    x, y = word_histograms(n + 6)
    regression, _ = spent(lambda: GPHIKClassifier(noise=0.1).fit(x[:n], y[:n]))
    cold, model = spent(lambda: GPHIKClassifier(noise=0.1, likelihood="softmax").fit(x[:n], y[:n]))
    solved = model._model.solution
    what = f"softmax fit n = {n:,}, 10 classes; relative gradient {solved.gradient:.0e}"
    yield Row(what, seconds(cold), f"regression {seconds(regression)}", times(cold, regression), "15x")
    yield Row("  Newton steps; kernel products", f"{solved.steps}; {solved.products}")
    labels = [spent(lambda i=i: model.partial_fit(x[n + i], y[n + i : n + i + 1]))[0] for i in range(5)]
    warm = float(np.median(labels))
    products = f"{model._model.solution.products} products"
    yield Row("  one more label, warm", seconds(warm), products, f"{warm / cold:.3f} of a fit", "0.1")
    flip = model._model.labels[4] + 1
    changes = {
        "a label corrected to a wrong one": lambda: model.relabel([4], [flip % 10]),
        "a label retracted": lambda: model.forget([7]),
        "a label of a new class": lambda: model.partial_fit(x[n + 5], [99]),
    }
    for what, change in changes.items():
        cost, _ = spent(change)
        yield Row(
            f"  {what}", seconds(cost), f"{model._model.solution.products} products", f"{cost / cold:.3f} of a fit"
        )


def many_classes(n=5_000, n_classes=1_000, n_dims=1_000):
    """1,000 classes in a tree of three levels."""
    _jit.compile_all()
    rng = np.random.default_rng(0)
    top, middle, own = (rng.dirichlet(np.full(n_dims, 0.05), size=k) for k in (10, 100, n_classes))
    y = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n - n_classes)])
    bases = (top[y // 100] + middle[y // 10] + 2 * own[y]) / 4
    x = sp.csr_matrix(np.array([rng.multinomial(300, base) for base in bases]) / 300)
    parents = np.concatenate(
        [n_classes + np.arange(n_classes) // 10, n_classes + 100 + np.arange(100) // 10, [-1] * 10]
    )
    settings = Settings(bias=0.0)
    operator = settings.operator(x, settings.reader(x))
    prior = Prior.shared(ClassTree(parents), operator.kernel, 3.0)
    cost, model = spent(lambda: SoftmaxRegression(operator, y, prior))
    what = f"softmax fit n = {n:,}, {n_classes:,} classes in three levels"
    yield Row(what, seconds(cost), f"{model.solution.products} products", aim="minutes")
    yield Row("  peak memory of the process", f"{peak_memory():.2f} GiB", aim="8 GiB")


def satimage(folder):
    """Paper 001, section 6.2: an RBF kernel and variance of its own for each class, found by cross-validation alone."""
    task = read_task(folder / "satimage.npz")
    order, width = np.random.default_rng(0).permutation(len(task.y)), 2 * task.x.var(axis=0).sum()
    kernels = [RBFKernel(np.ones(1), np.zeros(task.x.shape[1], dtype=np.int64), 0.0, g / width) for g, _ in STARTS]
    tree = ClassTree.flat(task.n_classes)
    priors = [
        Prior.per_node(tree, (kernel,) * task.n_classes, variance, 16.0)
        for kernel, (_, variance) in zip(kernels, STARTS, strict=True)
    ]
    for n in TUNE_ROWS:
        rows, found = order[:n], []
        for prior in priors:
            criterion = CrossValidation(StoredOperator(task.x[rows], prior.kernels[0]), task.y[rows], prior)
            search = Search.of(prior, "node", theta=("gamma",))
            found.append(tune_prior(criterion, prior, search, max_rounds=25 if len(priors) > 1 else 7))
        best = min(found, key=lambda one: one.value)
        priors = [best.prior]
        print(f"satimage, {n} rows: cross-validated log loss {[round(one.value, 4) for one in found]}", flush=True)
    model = SoftmaxRegression(StoredOperator(task.x, best.prior.kernels[0]), task.y, best.prior, tolerance=1e-3)
    p = model.probabilities(task.x_test)
    rejected, errors = error_reject_curve(p, task.y_test)
    at = errors[np.searchsorted(rejected, 0.1)]
    print(f"satimage: test error {100 * errors[0]:.2f} % (aim 8.0), {100 * at:.2f} % with a tenth rejected", flush=True)


def imclef(folder, n_search, n):
    """The tree against no tree: RBF kernel; gamma, variance (of each level) and intercept by cross-validation."""
    data = np.load(folder / "imclef07d.npz")
    names = data["classes"]
    parents = {}
    for name in names:
        parts = name.split("/")
        for i in range(1, len(parts)):
            parents["/".join(parts[: i + 1])] = "/".join(parts[:i])
    named = class_names(names, parents)
    rows = np.random.default_rng(0).permutation(len(data["y_train"]))[:n]
    x, x_test = (data[part].astype(np.float64) / 7 for part in ("X_train", "X_test"))
    y, y_test = (named.numbers(names[data[part]]) for part in ("y_train", "y_test"))
    x, y, few = x[rows], y[rows], np.arange(n_search)
    gamma = 1.0 / (x.shape[1] * x[few].var())
    kernel = RBFKernel(np.ones(1), np.zeros(x.shape[1], dtype=np.int64), 0.0, gamma)
    for what, tree in {"flat": ClassTree.flat(len(names)), "tree": named.tree}.items():
        start = Prior.shared(tree, kernel, 3.0)
        criterion = CrossValidation(StoredOperator(x[few], kernel), y[few], start)
        search = Search.of(start, "shared" if tree.is_flat else "depth", theta=("gamma",), intercept=True)
        found = tune_prior(criterion, start, search, max_rounds=12)
        operator = StoredOperator(x, found.prior.kernels[0])
        model = SoftmaxRegression(operator, y, found.prior, tolerance=1e-4)
        scores = TreeScores.of(named.tree, model.probabilities(x_test), y_test)
        print(f"imclef07d, {len(y)} rows, {what}: {scores}; cross-validated {found.value:.4f}", flush=True)


def others(folder, name, n=ROWS):
    """Error beside boosting and a support vector machine, on the same rows and, for these two, on all."""
    task = read_task(folder / f"{name}.npz")
    scale = StandardScaler().fit(task.x)
    x, x_test = scale.transform(task.x), scale.transform(task.x_test)
    rows = np.random.default_rng(0).permutation(len(x))[:n]
    models = {
        "softmax, RBF": (lambda: GPHIKClassifier("rbf", likelihood="softmax", tune="cv"), [rows]),
        "regression, RBF": (lambda: GPHIKClassifier("rbf", tune="loo"), [rows]),
        "HistGradientBoosting": (HistGradientBoostingClassifier, [rows, np.arange(len(x))]),
        "SVC": (lambda: SVC(C=10), [rows, np.arange(len(x))]),
    }
    for what, (make, samples) in models.items():
        for sample in samples:
            cost, model = spent(lambda make=make, sample=sample: make().fit(x[sample], task.y[sample]))
            error = (model.predict(x_test) != task.y_test).mean()
            print(f"| {name} | {what} | {len(sample):,} | {100 * error:.2f} % | {seconds(cost)} |", flush=True)


def calibration(folder, name, n=ROWS):
    """A line for each way to get probabilities, on the same (sampled) rows."""
    task = read_task(folder / f"{name}.npz")
    rng = np.random.default_rng(1)
    rows, tests = rng.permutation(len(task.y))[:n], rng.permutation(len(task.y_test))[:TESTS]
    x, y, x_test, y_test = task.x[rows], task.y[rows], task.x_test[tests], task.y_test[tests]
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
        p = np.zeros((len(test), task.n_classes))
        p[:, model.classes_] = model.predict_proba(test)
        q = Quality.of(p, y_test)
        figures = f"{q.accuracy:.4f} | {q.log_loss:.4f} | {q.brier:.4f} | {q.calibration_error:.4f}"
        print(f"| {name} | {what} | {figures} |", flush=True)


def main():
    warnings.simplefilter("ignore")
    _jit.compile_all()
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("../shared/data")
    chosen = sys.argv[2:] or ["trees", "errors", "others", *CALIBRATED]
    if "errors" in chosen:
        satimage(folder)
    if "trees" in chosen:
        for n_search, n in TREE_ROWS:
            imclef(folder, n_search, n)
    if "others" in chosen:
        print("| data | model | rows | test error | processor |\n| --- | --- | --- | --- | --- |")
        for name in ("pendigits", "letter"):
            others(folder, name)
    sets = [name for name in chosen if name in CALIBRATED]
    if sets:
        print("| data | model | accuracy | log loss | Brier | calibration error |")
        print("| --- | --- | --- | --- | --- | --- |")
    for name in sets:
        calibration(folder, name)


if __name__ == "__main__":
    main()
