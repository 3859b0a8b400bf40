"""Softmax likelihood: cost against label regression, and many classes in a tree."""

import numpy as np
import scipy.sparse as sp

from core import GPHIKClassifier, _jit
from core.classes import ClassTree
from core.factory import make_operator, make_reader
from core.settings import Settings
from core.softmax import Prior, SoftmaxRegression
from tests.benchmarks.data import word_histograms
from tests.benchmarks.rows import Row, peak_memory, seconds, spent, times


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
    operator = make_operator(settings, x, make_reader(settings, x))
    prior = Prior.shared(ClassTree(parents), operator.kernel, 3.0)
    cost, model = spent(lambda: SoftmaxRegression(operator, y, prior))
    what = f"softmax fit n = {n:,}, {n_classes:,} classes in three levels"
    yield Row(what, seconds(cost), f"{model.solution.products} products", aim="minutes")
    yield Row("  peak memory of the process", f"{peak_memory():.2f} GiB", aim="8 GiB")
