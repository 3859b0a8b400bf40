"""One label more, exactly, against a fresh fit."""

import numpy as np

from core import GPHIKClassifier, _jit
from tests.benchmarks.data import word_histograms
from tests.benchmarks.rows import Row, seconds, timed, times


def one_label(n, posterior, aim):
    _jit.compile_all()
    x, y = word_histograms(n + 40)
    model = GPHIKClassifier(noise=0.01, posterior=posterior)
    fresh = timed(lambda: model.fit(x[:n], y[:n]))
    spent = [timed(lambda i=i: model.partial_fit(x[i : i + 1], y[i : i + 1])) for i in range(n, n + 20)]
    what = f"add one label at n = {n:,} ({posterior})"
    yield Row(
        what,
        f"{seconds(float(np.median(spent)))} (worst {seconds(max(spent))})",
        f"fit {seconds(fresh)}",
        times(fresh, float(np.median(spent))),
        aim,
    )
    forget = [timed(lambda i=i: model.forget([i])) for i in range(10)]
    yield Row(
        "  retract one",
        seconds(float(np.median(forget))),
        f"fit {seconds(fresh)}",
        times(fresh, float(np.median(forget))),
    )
    kept = np.setdiff1d(np.arange(n + 20), 2 * np.arange(10))  # later rows move up, so every second one went
    again = GPHIKClassifier(noise=0.01, posterior=posterior).fit(x[kept], y[kept])
    difference = np.abs(model.means(x[n + 20 :]) - again.means(x[n + 20 :])).max()
    yield Row("  largest difference of a mean to a fresh fit", f"{difference:.1e}", aim="1e-8")
