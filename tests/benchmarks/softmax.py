"""Softmax likelihood: cost against regression, many classes; with a folder of data also error and calibration.

`python -m tests.benchmarks softmax` for the first part. `python -m tests.benchmarks.softmax FOLDER [name ...]` prints
tables of quality on real data: satimage with a kernel for each class, imclef07d with and without its tree, and
log loss, Brier score and calibration error of softmax, regression and logistic regression side by side.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

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
TUNE_ROWS = 1300  # of the searches with RBF kernels
ROWS = 2000


def words(n=10_000):
    """10 classes: a fit, and one more label, against label regression on the same rows."""
    _jit.compile_all()
    x, y = word_histograms(n + 5)
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
    corrected, _ = spent(lambda: model.relabel([4], [flip % 10]))
    yield Row("  a label corrected to a wrong one", seconds(corrected), "", f"{corrected / cold:.3f} of a fit")


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
    operator, _ = settings.operator(x, settings.reader(x))
    prior = Prior.shared(ClassTree(parents), operator.kernel, 3.0)
    cost, model = spent(lambda: SoftmaxRegression(operator, y, prior))
    what = f"softmax fit n = {n:,}, {n_classes:,} classes in three levels"
    yield Row(what, seconds(cost), f"{model.solution.products} products", aim="minutes")
    yield Row("  peak memory of the process", f"{peak_memory():.2f} GiB", aim="8 GiB")


def satimage(folder):
    """Paper 001, section 6.2: an RBF kernel and variance of its own for each class, found by cross-validation."""
    task = read_task(folder / "satimage.npz")
    gamma = 36 / 4 / (2 * task.x.var(axis=0).sum())
    kernel = RBFKernel(np.ones(1), np.zeros(task.x.shape[1], dtype=np.int64), 0.0, gamma)
    tree, rng = ClassTree.flat(task.n_classes), np.random.default_rng(0)
    rows = rng.permutation(len(task.y))[:TUNE_ROWS]
    start = Prior.per_node(tree, (kernel,) * task.n_classes, 10.0, 16.0)
    criterion = CrossValidation(StoredOperator(task.x[rows], kernel), task.y[rows], start)
    found = tune_prior(criterion, start, Search.of(start, "node", theta=("gamma",)))
    model = SoftmaxRegression(StoredOperator(task.x, kernel), task.y, found.prior, tolerance=1e-5)
    p = model.probabilities(task.x_test)
    rejected, errors = error_reject_curve(p, task.y_test)
    at = errors[np.searchsorted(rejected, 0.1)]
    print(f"satimage: test error {100 * errors[0]:.2f} % (aim 8.0), {100 * at:.2f} % with a tenth rejected")


def imclef(folder, n=ROWS):
    """The tree against no tree, both by cross-validation on the same rows."""
    data = np.load(folder / "imclef07d.npz")
    names = data["classes"]
    parents = {}
    for name in names:
        parts = name.split("/")
        for i in range(1, len(parts)):
            parents["/".join(parts[: i + 1])] = "/".join(parts[:i])
    named = class_names(names, parents)
    scale = StandardScaler().fit(data["X_train"])
    rows = np.random.default_rng(0).permutation(len(data["y_train"]))[:n]
    x, x_test = scale.transform(data["X_train"][rows]), scale.transform(data["X_test"])
    for what, tree in {"flat": None, "tree": parents}.items():
        model = GPHIKClassifier("rbf", noise=0.1, gamma=1 / 80, likelihood="softmax", tree=tree, tune="cv")
        model.fit(x, names[data["y_train"][rows]])
        scores = TreeScores.of(named.tree, model.predict_proba(x_test), named.numbers(names[data["y_test"]]))
        print(f"imclef07d, {n} rows, {what}: {scores}; {model.parameters_}", flush=True)


def calibration(folder, name, n=ROWS):
    """A line for each way to get probabilities, on the same (sampled) rows."""
    task = read_task(folder / f"{name}.npz")
    rng = np.random.default_rng(1)
    rows, tests = rng.permutation(len(task.y))[:n], rng.permutation(len(task.y_test))[:4000]
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
    chosen = sys.argv[2:] or ["trees", "errors", *CALIBRATED]
    if "errors" in chosen:
        satimage(folder)
    if "trees" in chosen:
        imclef(folder)
    sets = [name for name in chosen if name in CALIBRATED]
    if sets:
        print("| data | model | accuracy | log loss | Brier | calibration error |")
        print("| --- | --- | --- | --- | --- | --- |")
    for name in sets:
        calibration(folder, name)


if __name__ == "__main__":
    main()
