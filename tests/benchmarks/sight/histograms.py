"""Counts that users send as features, beside HIK-SVM and logistic regression."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from core import Labelling, OnlineLearner, Settings
from tests.benchmarks.others import intersection
from tests.benchmarks.sight.curves import (
    POOL,
    TEST,
    IntersectionSVC,
    Result,
    add,
    by_margin,
    of_features,
    play,
    score,
    show,
)

SETS = ("scene15_bovw200", "scene15_bovw200_pyr", "reuters_r8")
BUDGETS = (100, 200, 400)
FIRST = 20  # labels drawn at random, the same for all
OURS: dict[str, dict[str, Any]] = {"AskNext": {}, "AskNext, set to softmax": {"likelihood": "softmax"}}


def histograms(folder: Path, seeds: int, only: str | None = None) -> None:
    """The given split, cut to pools and tests of 1,500: what was asked for, then all labels of the pool."""
    for name in SETS if only is None else [only]:
        with np.load(folder / f"{name}.npz") as arrays:
            x, y, x_test, truth = (arrays[key] for key in ("X_train", "y_train", "X_test", "y_test"))
        curves: dict[str, list[Result]] = {}
        for seed in range(seeds):
            rng = np.random.default_rng(seed)
            pool, test = rng.permutation(len(y))[:POOL], rng.permutation(len(truth))[:TEST]
            given = x[pool].astype(float), y[pool].astype(str), x_test[test].astype(float), truth[test].astype(str)
            for title, run in against(*given):
                add(curves, title, run)
        show(name, curves)


def against(x, y, x_test, truth) -> Iterator[tuple[str, Result]]:
    """All sides on one split."""
    first, n = np.arange(FIRST), len(y)
    both, rows = np.vstack([x, x_test]), np.arange(n + len(truth))
    svc = IntersectionSVC(intersection(both, x))
    regression = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
    sides = ("HIK-SVM", svc, rows[:n], rows[n:]), ("logistic regression", regression, x, x_test)
    for title, model, known, held in sides:
        asked = by_margin(model, known, y, held, truth, first, BUDGETS)
        yield title, asked | by_margin(model, known, y, held, truth, rows[:n], (n,))
    for title, changed in OURS.items():
        settings = of_features(**changed)
        asked = play(settings, x, y, x_test, truth, first, BUDGETS)
        yield title, asked | {n: all_labels(settings, x, y, x_test, truth)}


def all_labels(settings: Settings, x, y, x_test, truth) -> tuple[float, float]:
    """Trained once, on all there are."""
    classes = sorted({*y, *truth})
    labelling = Labelling(tuple(classes), dict(enumerate(y.tolist())))
    learner = OnlineLearner.build(settings, x, labelling, train=True)
    return score(learner.predictive(x_test)[2], np.array(classes), truth)
