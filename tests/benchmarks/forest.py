"""Forests with Gaussian processes in their leaves on the data of Froehlich2012, and training on millions of rows.

Real data are read from the folder in ASKNEXT_BENCH_DATA; without it these rows are left out.
"""

import os
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from app.commands.labelled_files import read_dataset
from core import GPHIKClassifier, GPHIKForestClassifier, Labelling, OnlineLearner, Settings, _jit
from tests.benchmarks.data import sparse_rows
from tests.benchmarks.rows import Row, peak_memory, seconds, spent, timed, times


class DataSet(NamedTuple):
    """What is asked of a data set, and the forest that is tried on it."""

    aim: str
    scaled: bool  # columns of very different size are divided by their spread
    forest: dict[str, object]


SETS = {
    "letter": DataSet("97.5 %", False, {}),
    "pendigits": DataSet("98.2 %", False, {"leaf_size": "auto"}),
    "shuttle": DataSet("99.9 %", True, {}),
    "adult": DataSet("85.0 %", True, {"trees": "random", "tune": "loo"}),
}
FULL = 20_000  # rows that one GP takes: its factor is 3 GB


def load(name):
    folder = os.environ.get("ASKNEXT_BENCH_DATA")
    if not folder or not (Path(folder) / f"{name}.npz").exists():
        return None
    dataset = read_dataset(Path(folder) / f"{name}.npz")
    x, x_test = np.asarray(dataset.x, dtype=np.float64), np.asarray(dataset.x_test, dtype=np.float64)
    if SETS[name].scaled:
        scale = StandardScaler().fit(x)
        x, x_test = scale.transform(x), scale.transform(x_test)
    return x, dataset.y, x_test, dataset.y_test


def accuracy(name):
    """The forest beside one tree, one GP on all rows, a support vector machine and boosted trees."""
    data = load(name)
    if data is None:
        return
    _jit.compile_all()
    x, y, x_test, y_test = data
    asked = SETS[name]
    given = ", ".join(f"{key}={value!r}" for key, value in asked.forest.items())
    first = f"{name} ({len(y):,} rows): forest of 10 trees{', ' if given else ''}{given}"
    models = {
        first: GPHIKForestClassifier(**asked.forest),
        "  DT-GP: one tree": GPHIKForestClassifier(**{**asked.forest, "n_trees": 1, "trees": "best"}),
        "  sklearn HistGradientBoosting": HistGradientBoostingClassifier(random_state=0),
        "  sklearn SVC": SVC(),
        "  one GP on all rows": GPHIKClassifier("rbf", noise=0.01, max_memory=8 * 2**30),
    }
    if len(y) > FULL:
        del models["  one GP on all rows"]
    for what, model in models.items():
        train, _ = spent(lambda model=model: model.fit(x, y))
        test, found = spent(lambda model=model: model.predict(x_test))
        cost = f"train {seconds(train)} CPU, test {seconds(test)} CPU"
        yield Row(what, f"{(found == y_test).mean():.2%}", cost, "", asked.aim if what == first else "")


def decision_list(n, n_dims=41, n_rules=60, seed=0):
    """The first rule that fits gives the class (five of them, of very different size); one label in 200 is wrong."""
    rng = np.random.default_rng(seed)
    columns, cuts = rng.integers(0, n_dims, (n_rules, 3)), rng.random((n_rules, 3))
    above, classes = rng.random((n_rules, 3)) < 0.5, rng.choice(5, n_rules, p=[0.5, 0.3, 0.1, 0.07, 0.03])
    x = rng.random((n, n_dims), dtype=np.float32).astype(np.float64)
    y = np.full(n, -1)
    for column, cut, side, c in zip(columns, cuts, above, classes, strict=True):
        fits = ((x[:, column] > cut) == side).all(axis=1) & (y < 0)
        y[fits] = c
    y[y < 0] = 0
    wrong = rng.random(n) < 0.005
    y[wrong] = rng.integers(0, 5, int(wrong.sum()))
    return x, y


def millions(n=3_000_000, n_test=100_000):
    """DT-GP on a noisy decision list: one tree, every impure leaf solved."""
    _jit.compile_all()
    x, y = decision_list(n + n_test)
    model = GPHIKForestClassifier(n_trees=1, leaf_size=250, trees="random", gamma=1.0, noise=0.1, max_memory=2 * 2**30)
    wall = []
    cost, _ = spent(lambda: wall.append(timed(lambda: model.fit(x[:n], y[:n]))))
    leaves = list(model.forest_.leaves[0].values())
    impure = [len(leaf.members) for leaf in leaves if leaf.pure is None]
    yield Row(
        f"DT-GP, {n:,} x {x.shape[1]} noisy decision list, L = 250",
        f"{seconds(cost)} CPU",
        f"{seconds(wall[0])} wall",
        aim="minutes",
    )
    yield Row("  leaves; with a GP; rows in those", f"{len(leaves):,}; {len(impure):,}; {sum(impure):,}")
    yield Row("  peak memory of the process", f"{peak_memory():.2f} GiB", aim="12 GiB")
    right = []
    test = timed(lambda: right.append(float((model.predict(x[n:]) == y[n:]).mean())))
    yield Row(f"  accuracy of {n_test:,} rows (99.6 % can be known)", f"{right[0]:.2%}", f"test {seconds(test)}")
    add = timed(lambda: model.partial_fit(x[n : n + 1], y[n : n + 1]))
    yield Row("  one more label", seconds(add))


class Generated:
    """Rows of 20 columns with 32 levels each, made anew for each pass."""

    def __init__(self, n, step, n_dims=20, n_levels=32):
        self.n, self.step, self.n_dims, self.n_levels = n, step, n_dims, n_levels

    def __iter__(self):
        for seed, first in enumerate(range(0, self.n, self.step)):
            rng = np.random.default_rng(seed)
            rows = min(self.step, self.n - first)
            x = rng.integers(1, self.n_levels + 1, (rows, self.n_dims), dtype=np.int8)
            score = x[:, :5].sum(axis=1) + rng.normal(scale=10.0, size=rows)
            yield x / self.n_levels, np.digitize(score, [70.0, 82.5, 95.0])


def streamed(n=10_000_000):
    """Level space on rows that are never in memory together, and against one fit of as many as fit at ease."""
    _jit.compile_all()
    few = Generated(500_000, 100_000)
    x, y = (np.concatenate(parts) for parts in zip(*few, strict=True))
    whole, summed = GPHIKClassifier(posterior="levels"), GPHIKClassifier()
    one, chunked = timed(lambda: whole.fit(x, y)), timed(lambda: summed.fit_chunks(few))
    difference = np.abs(whole.means(x[:2000]) - summed.means(x[:2000])).max()
    yield Row(f"chunks of 100,000, n = {len(y):,}", seconds(chunked), f"one fit {seconds(one)}", times(chunked, one))
    yield Row("  largest difference of a mean", f"{difference:.1e}", aim="1e-8")
    before = peak_memory()
    model, data = GPHIKClassifier(), Generated(n, 200_000)
    making, _ = spent(lambda: sum(len(labels) for _, labels in data))
    cost, _ = spent(lambda: model.fit_chunks(data))
    yield Row(
        f"chunks of 200,000, n = {n:,}, D = 20, 32 levels each",
        f"{seconds(cost)} CPU",
        f"of that, making the rows {seconds(2 * making)}",
    )
    yield Row("  residual; S", f"{model.residual_:.1e}; {model.n_levels_}", aim="1e-8")
    yield Row("  peak memory of the process; before", f"{peak_memory():.2f} GiB; {before:.2f} GiB")


def large_pool(m=1_000_000, n_dims=200, held=40, labels=100):
    """Label to next item over a million items, in memory and in mapped files."""
    _jit.compile_all()
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:

        def mapped(entries, kind):
            number = len(list(Path(folder).iterdir()))
            return np.memmap(Path(folder) / str(number), dtype=kind, mode="w+", shape=max(entries, 1))

        learners = {
            "memory": OnlineLearner(Settings(levels=16), ["a", "b"]),
            "files": OnlineLearner(Settings(levels=16), ["a", "b"], allocate=mapped),
        }
        for _ in range(0, m, m // 10):
            learnt = sparse_rows(rng, m // 10, n_dims, held)
            for learner in learners.values():
                learner.add_items(learnt)
        for name, learner in learners.items():
            learner.label_many({i: "ab"[i % 2] for i in range(labels)})
            waits = [timed(lambda i=i, one=learner: (one.label(i, "ab"[i % 2]), one.query(1))) for i in range(200, 211)]
            what = f"label to next item, {m:,} items, D = {n_dims}, {held} non-zeros, in {name}"
            yield Row(what, f"{seconds(float(np.median(waits)))} (worst {seconds(max(waits))})", aim="250 ms")
        a, b = learners.values()
        same = np.array_equal(a.mean, b.mean) and np.array_equal(a.variance, b.variance)
        yield Row("  the same to the last bit", str(same), f"peak memory {peak_memory():.2f} GiB")


def behind_a_pool(m=100_000, n_dims=20, n_classes=10):
    """Label to next item of a project with `model: forest`, beside one GP; the forest is one leaf up to 500 labels."""
    _jit.compile_all()
    rng = np.random.default_rng(0)
    x = rng.random((m, n_dims))
    y = ((x - 0.5) @ rng.normal(size=(n_dims, n_classes))).argmax(axis=1).astype(str)
    for kernel in ("hik", "rbf"):
        for labels in (300, 3000):
            found = {}
            for model in ("forest", "gp"):
                settings = Settings(kernel=kernel, model=model, levels=16)
                known = Labelling(tuple(np.unique(y)), dict(enumerate(y[:labels].tolist())))
                learner = OnlineLearner.build(settings, x, known)
                items = range(labels, labels + 7)
                waits = [timed(lambda i=i, one=learner: (one.label(i, y[i]), one.query(1))) for i in items]
                found[model] = float(np.median(waits))
            forest, gp = found["forest"], found["gp"]
            what = f"forest behind {m:,} items, {kernel} leaves, {labels:,} labels: label to next item"
            yield Row(what, seconds(forest), f"one GP {seconds(gp)}", times(forest, gp))
