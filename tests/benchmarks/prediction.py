"""Classifying a batch, single thread."""

import os

import numpy as np

from core import GPHIKClassifier, _jit
from core.histograms import raw_rows
from tests.benchmarks.data import word_histograms
from tests.benchmarks.rows import Row, seconds, timed, times

BATCH = 100_000
CPP_ROW = 22e-6  # of the original with its quantised table


def batch():
    _jit.compile_all()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    x, y = word_histograms(BATCH + 10_000)
    pool, x, y = x[10_000:], x[:10_000], y[:10_000]
    model = GPHIKClassifier(noise=0.01).fit(x, y)
    predictor, coded, raw = model._model.posterior.predictor, model.code(pool), raw_rows(pool)
    compared = f"C++ {seconds(CPP_ROW)}"
    for what, run, aim in [
        ("classify a coded row (gather), 10 classes", lambda: model.predict(coded), "1 us"),
        ("  from raw CSR, quantised, table only", lambda: predictor(raw, quantised=True), "3 us"),
        ("  from raw CSR, quantised, with all checks", lambda: model.means(pool, quantised=True), ""),
        ("  from raw CSR, exact, with all checks", lambda: model.means(pool), ""),
    ]:
        row = timed(run, 5) / BATCH
        yield Row(what, seconds(row), compared, times(CPP_ROW, row), aim)
    exact = model.means(pool)
    agree = float(np.mean(model.predict(coded) == model.classes_[exact.argmax(axis=1)]))
    yield Row("  rows where coded and exact prediction agree", f"{agree:.2%}")
