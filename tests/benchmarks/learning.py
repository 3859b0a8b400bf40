"""The learner: variance at any price, tuning, the pool posterior, and a label against a scikit-learn GP loop."""

import os

import numpy as np
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF

from core import GPHIKClassifier, OnlineLearner, Settings, _jit
from core.tuning import criterion_for
from tests.benchmarks.data import word_histograms
from tests.benchmarks.rows import Row, peak_memory, seconds, timed, times

METHODS = (("exact", 0), ("fapu", 8), ("fapu", 2), ("qfapu", 8), ("qfapu", 2), ("rapu", 0), ("qrapu", 0))


def variance():
    _jit.compile_all()
    x, y = word_histograms(10_400)
    model = GPHIKClassifier(noise=0.01).fit(x[:10_000], y[:10_000])
    query, exact, pace = x[10_000:], None, None
    for method, k in METHODS:
        values = model.predict_variance(query, method=method, k=k)  # eigenpairs are found here, once
        spent = timed(lambda method=method, k=k: model.predict_variance(query, method=method, k=k), 3) / query.shape[0]
        exact, pace = (values, spent) if exact is None else (exact, pace)
        correlation = np.corrcoef(values, exact)[0, 1]
        what = f"variance of a row at n = 10,000, {method}" + (f" k = {k}" if k else "")
        yield Row(what, seconds(spent), f"mean {values.mean():.3f}, correlation {correlation:.2f}", times(pace, spent))


def tuning():
    _jit.compile_all()
    x, y = word_histograms(50_500)
    model = GPHIKClassifier(noise=0.01, transform="power").fit(x[:50_000], y[:50_000])
    cold = timed(model.tune)
    first = model.tuned_.evaluations
    model.partial_fit(x[50_000:], y[50_000:])
    warm = timed(model.tune)
    yield Row("tune eta and noise at n = 50,000 (leave-one-out)", f"{seconds(cold)}, {first} evaluations", aim="90 s")
    what = "  again, warm, after 1 % more labels"
    compared = f"{first} evaluations"
    share = f"{model.tuned_.evaluations / first:.2f} of them"
    yield Row(what, f"{seconds(warm)}, {model.tuned_.evaluations} evaluations", compared, share, "a third")
    value = timed(lambda: criterion_for(model._model, "evidence")(model._model.operator.kernel, 0.01))
    yield Row("  evidence once", seconds(value))


def pool():
    _jit.compile_all()
    x, y = word_histograms(100_000)
    before = peak_memory()
    learner = OnlineLearner(Settings(noise=0.01), [str(c) for c in range(10)])
    learner.add_items(x)
    order = np.random.default_rng(0).permutation(len(y))
    for item in order[:500]:
        learner.label(int(item), str(y[item]))
    codes = learner._model.pool.rows.codes.nbytes + learner._model.pool.rows.starts.nbytes
    results = learner.mean.nbytes + learner.variance.nbytes
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    spent = [timed(lambda i=i: learner.label(int(i), str(y[i]))) for i in order[500:540]]
    yield Row("a label, exact over 100,000 pool rows, one core", seconds(float(np.median(spent))), aim="30 ms")
    ask = [timed(lambda s=s: learner.query(1, "unc", seed=s)) for s in range(10)]
    yield Row("  the next question", seconds(float(np.median(ask))))
    batch = timed(lambda: learner.query(20, "unc"))
    compared = f"one at a time {seconds(20 * float(np.median(ask)))}"
    yield Row(
        "  a batch of 20, conditioned on its picks", seconds(batch), compared, times(batch, 20 * float(np.median(ask)))
    )
    held = f"{codes / 2**20:.0f} + {results / 2**20:.0f} MiB"
    yield Row("  coded rows + mean and variance; growth of the process", held, f"{peak_memory() - before:.2f} GiB")


def gp_loop():
    _jit.compile_all()
    x, y = word_histograms(2_500)
    dense = x.toarray()
    learner = OnlineLearner(Settings(noise=0.01), [str(c) for c in range(10)])
    learner.add_items(x)
    for item in range(500):
        learner.label(item, str(y[item]))

    def ours(item):
        learner.label(item, str(y[item]))
        learner.query(1, "unc")

    def theirs():
        model = GaussianProcessClassifier(RBF(0.2), optimizer=None).fit(dense[:501], y[:501])
        model.predict_proba(dense[501:])

    fast = float(np.median([timed(lambda item=item: ours(item)) for item in range(500, 520)]))
    slow = timed(theirs)
    what = "label to next question at 500 labels, 10 classes, pool 2,500"
    yield Row(what, seconds(fast), f"sklearn GP {seconds(slow)}", times(slow, fast), "50x")
