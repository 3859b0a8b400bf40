"""Training: against one Cholesky factorisation, the original C++ implementation, and its own growth with n."""

import numpy as np
import scipy.linalg

from core import GPHIKClassifier, _jit
from tests.benchmarks.data import twenty_levels, word_histograms
from tests.benchmarks.rows import Row, peak_memory, seconds, timed, times

CPP_SECONDS = {1_500: 1.0, 10_000: 46.0, 50_000: 413.0}  # CPU time of the original on this kind of machine and data
AIM = {1_500: "", 10_000: "2.5 s", 50_000: "6 s, 1/40 of C++"}


def words(n):
    _jit.compile_all()
    x, y = word_histograms(n)
    # Twice: the first run also waits for the machine to hand out memory.
    spent = timed(lambda: GPHIKClassifier(noise=0.01).fit(x, y), 2)
    memory = peak_memory()
    model = GPHIKClassifier(noise=0.01).fit(x, y)
    what = f"train n = {n:,}"
    yield Row(what, seconds(spent), f"C++ {CPP_SECONDS[n]:g} s CPU", times(CPP_SECONDS[n], spent), AIM[n])
    if model.posterior_ == "levels":
        a = np.eye(model.n_levels_, order="F")
        a += 0.5 / len(a)
        one = timed(lambda: scipy.linalg.cholesky(a, lower=True, check_finite=False), 2)
        what = f"  the same, S = {model.n_levels_:,}, against one Cholesky of S x S"
        yield Row(what, seconds(spent), seconds(one), times(spent, one), "4x" if n == 50_000 else "")
    yield Row("  posterior; residual", f"{model.posterior_}; {model.residual_:.1e}", aim="1e-8")
    yield Row("  peak memory of the process", f"{memory:.2f} GiB", aim="2.5 GiB" if n == 50_000 else "")


def growth():
    _jit.compile_all()
    before = None
    for n in (10_000, 100_000, 1_000_000):
        x, y = twenty_levels(n)
        model = GPHIKClassifier()
        spent = timed(lambda model=model, x=x, y=y: model.fit(x, y))
        what = f"train n = {n:,}, D = 54, 20 levels a dimension ({model.posterior_})"
        ratio = f"{spent / before:.1f}x for 10x n" if before else ""
        yield Row(what, seconds(spent), seconds(before) if before else "", ratio, "15 s" if n == 1_000_000 else "")
        before = spent
