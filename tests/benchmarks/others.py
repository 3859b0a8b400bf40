"""Against scikit-learn on the same data. Its kernel matrix is computed as its users would, by scipy's distances."""

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Kernel
from sklearn.svm import SVC

from core import GPHIKClassifier, _jit
from tests.benchmarks.data import word_histograms
from tests.benchmarks.rows import Row, seconds, timed, times
from tests.reference.dense import targets


def intersection(a, b):
    """min(a, b) = (a + b - |a - b|) / 2, with the constant term of our default."""
    return 1.0 + (a.sum(axis=1)[:, None] + b.sum(axis=1) - cdist(a, b, "cityblock")) / 2


class Intersection(Kernel):
    """The histogram intersection kernel for scikit-learn."""

    hyperparameters = ()

    def __init__(self):
        pass

    def __call__(self, X, Y=None, eval_gradient=False):
        return intersection(X, X if Y is None else Y)

    def diag(self, X):
        return 1.0 + X.sum(axis=1)

    def is_stationary(self):
        return False


def gaussian_process():
    _jit.compile_all()
    n, m = 2_000, 1_000
    x, y = word_histograms(n + m)
    dense, Y = x.toarray(), targets(y, 10)
    theirs = GaussianProcessRegressor(Intersection(), alpha=0.01, optimizer=None)
    ours = GPHIKClassifier(noise=0.01)
    fit = timed(lambda: theirs.fit(dense[:n], Y[:n])), timed(lambda: ours.fit(x[:n], y[:n]))
    yield Row(f"train n = {n:,}", seconds(fit[1]), f"sklearn GPR {seconds(fit[0])}", times(*fit))
    kernel = timed(lambda: intersection(dense[:n], dense[:n]))
    yield Row(
        "  not counting its kernel matrix", seconds(fit[1]), seconds(fit[0] - kernel), times(fit[0] - kernel, fit[1])
    )
    spread = (
        timed(lambda: theirs.predict(dense[n:], return_std=True)),
        timed(lambda: (ours.means(x[n:]), ours.predict_variance(x[n:]))),
    )
    what = f"  mean and exact deviation of {m:,} rows"
    yield Row(what, seconds(spread[1]), f"sklearn GPR {seconds(spread[0])}", times(*spread))
    mean, deviation = theirs.predict(dense[n:], return_std=True)
    difference = np.abs(mean - ours.means(x[n:])).max()
    variance = np.abs(deviation[:, 0] ** 2 - ours.predict_variance(x[n:])).max()
    yield Row("  largest difference of mean; variance", f"{difference:.1e}; {variance:.1e}")


def support_vectors():
    _jit.compile_all()
    n, m = 10_000, 2_000
    x, y = word_histograms(n + m)
    dense = x.toarray()
    theirs, ours = SVC(kernel="precomputed"), GPHIKClassifier(noise=0.01)
    matrices = []
    kernel = timed(lambda: matrices.append((intersection(dense[:n], dense[:n]), intersection(dense[n:], dense[:n]))))
    train, test = matrices[0]
    solver = timed(lambda: theirs.fit(train, y[:n])) + timed(lambda: theirs.predict(test))
    fast = timed(lambda: ours.fit(x[:n], y[:n])) + timed(lambda: ours.predict(x[n:]))
    slow = kernel + solver
    yield Row(f"train n = {n:,} and predict {m:,}", seconds(fast), f"sklearn SVC {seconds(slow)}", times(slow, fast))
    yield Row("  not counting its kernel matrices", seconds(fast), seconds(solver), times(solver, fast))
    scores = ours.score(x[n:], y[n:]), theirs.score(test, y[n:])
    yield Row("  accuracy", f"{scores[0]:.2%}", f"sklearn SVC {scores[1]:.2%}")
