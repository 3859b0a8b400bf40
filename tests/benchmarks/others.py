"""Against scikit-learn on the same data; it gets the kernel matrix from us, ready made, and its time is not counted."""

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Kernel
from sklearn.svm import SVC

from core import GPHIKClassifier, _jit
from core.histograms import raw_rows
from tests.benchmarks.data import word_histograms
from tests.benchmarks.rows import Row, seconds, timed, times
from tests.reference.dense import targets


class Precomputed(Kernel):
    """A kernel matrix over all rows; inputs are row numbers."""

    hyperparameters = ()

    def __init__(self, matrix=None):
        self.matrix = matrix

    def __call__(self, X, Y=None, eval_gradient=False):  # noqa: ARG002
        rows = X[:, 0].astype(int)
        columns = rows if Y is None else Y[:, 0].astype(int)
        return self.matrix[np.ix_(rows, columns)]

    def diag(self, X):
        return np.diag(self.matrix)[X[:, 0].astype(int)]

    def is_stationary(self):
        return False


def kernel_matrix(x):
    operator = GPHIKClassifier().fit(x, np.zeros(x.shape[0]))._model.operator
    rows = raw_rows(x)
    blocks = (np.arange(i, min(i + 256, len(rows))) for i in range(0, len(rows), 256))
    return np.hstack([operator.cross(rows.take(block)) for block in blocks])


def gaussian_process():
    _jit.compile_all()
    n, m = 2_000, 1_000
    x, y = word_histograms(n + m)
    K = kernel_matrix(x)
    numbers = np.arange(n + m)[:, None]
    theirs = GaussianProcessRegressor(Precomputed(K), alpha=0.01, optimizer=None)
    ours = GPHIKClassifier(noise=0.01)
    Y = targets(y, 10)
    fit = timed(lambda: theirs.fit(numbers[:n], Y[:n])), timed(lambda: ours.fit(x[:n], y[:n]))
    yield Row(f"train n = {n:,}", seconds(fit[1]), f"sklearn GPR {seconds(fit[0])} without its kernel", times(*fit))
    spread = (
        timed(lambda: theirs.predict(numbers[n:], return_std=True)),
        timed(lambda: (ours.means(x[n:]), ours.predict_variance(x[n:]))),
    )
    yield Row(
        f"  mean and exact deviation of {m:,} rows",
        seconds(spread[1]),
        f"sklearn GPR {seconds(spread[0])}",
        times(*spread),
    )
    mean, deviation = theirs.predict(numbers[n:], return_std=True)
    difference = np.abs(mean - ours.means(x[n:])).max()
    variance = np.abs(deviation[:, 0] ** 2 - ours.predict_variance(x[n:])).max()
    yield Row("  largest difference of mean; variance", f"{difference:.1e}; {variance:.1e}")


def support_vectors():
    _jit.compile_all()
    n, m = 10_000, 10_000
    x, y = word_histograms(n + m)
    K = kernel_matrix(x)
    theirs, ours = SVC(kernel="precomputed"), GPHIKClassifier(noise=0.01)
    slow = timed(lambda: theirs.fit(K[:n, :n], y[:n])) + timed(lambda: theirs.predict(K[n:, :n]))
    fast = timed(lambda: ours.fit(x[:n], y[:n])) + timed(lambda: ours.predict(x[n:]))
    yield Row(
        f"train n = {n:,} and predict {m:,}",
        seconds(fast),
        f"sklearn SVC {seconds(slow)} without its kernel",
        times(slow, fast),
    )
    scores = ours.score(x[n:], y[n:]), theirs.score(K[n:, :n], y[n:])
    yield Row("  accuracy", f"{scores[0]:.2%}", f"sklearn SVC {scores[1]:.2%}")
