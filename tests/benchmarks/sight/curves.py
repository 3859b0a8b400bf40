"""Accuracy by labels: our learner, pipelines that ask by margin, and how their curves are shown."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.svm import SVC

from app.encoders import fit
from app.services.model.training import FIRST_TRAINING, GROWTH
from app.services.project.settings import ProjectSettings, learner_settings
from app.services.project.state import StoredEncoder
from core import OnlineLearner, Settings

POOL, TEST = 1500, 1500
COSTS = [0.3, 1.0, 3.0, 10.0]  # of a kernel whose mean k(x, x) is 1

Result = dict[int, tuple[float, float]]  # accuracy, and stated less true error (not a number where it is not stated)
Batch = Callable[[int], int]  # how many to ask for with so many labels


def one(_known: int) -> int:
    """As a person is asked."""
    return 1


def refits(known: int) -> int:
    """Batches of pipelines, which are fitted anew for each."""
    return 5 if known < 100 else 10


def growing(known: int) -> int:
    """A twentieth of what is known, so that even whole pools take some hundred rounds."""
    return max(1, known // 20)


def asknext(kind, pool, labels, test, truth, first, budgets, options=None, batch: Batch = one, **settings) -> Result:
    """Raw items with default settings but these, as the service has them."""
    encoder = fit(kind, pool, options)
    stored = StoredEncoder(kind, "", encoder.channels, {"model": encoder.model()})
    suited = stored.model(len({*labels, *truth}), len(pool))
    parts = ProjectSettings(**settings).model_parts(kind, stored.columns, suited)
    rows = encoder.encode(pool).table, encoder.encode(test).table
    return play(learner_settings(parts), rows[0], labels, rows[1], truth, first, budgets, batch)


def of_features(**settings: Any) -> Settings:
    """The default settings of a project without an encoder, but for these."""
    return learner_settings(ProjectSettings(**settings).model_parts())


def play(settings: Settings, x, labels, x_test, truth, first, budgets, batch: Batch = one) -> Result:
    """Label what is asked for, after the first items, and train as the service does."""
    classes = sorted({*labels, *truth})
    learner = OnlineLearner(settings, classes)
    learner.add_items(x)
    n, trained, found = 0, 0, {}
    while n < max(budgets):
        size = min(batch(n), min(b for b in [len(first), *budgets] if b > n) - n)
        items = first[n : n + size] if n < len(first) else [item.row for item in learner.query(size)]
        learner.label_many({int(item): labels[item] for item in items})
        n += size
        if n >= max(FIRST_TRAINING, GROWTH * trained):
            learner, trained = OnlineLearner.build(settings, x, learner.labelling(), train=True), n
        if n in budgets:
            found[n] = score(learner.predictive(x_test)[2], np.array(classes), truth)
    return found


def score(probabilities, classes, truth) -> tuple[float, float]:
    """Accuracy, and stated less true error."""
    error = float((classes[probabilities.argmax(axis=1)] != truth).mean())
    return 1.0 - error, float(1.0 - probabilities.max(axis=1).mean()) - error


def by_margin(model, x, labels, x_test, truth, first, budgets, batch: Batch = refits) -> Result:
    """A pipeline that is fitted anew after each batch and asks where its best two classes are closest."""
    known, found = list(first), {}
    while True:
        ready = len(set(labels[known])) > 1
        if ready:
            model.fit(x[known], labels[known])
        if len(known) in budgets:
            found[len(known)] = (float((model.predict(x_test) == truth).mean()) if ready else 0.0), np.nan
            if len(known) == max(budgets):
                return found
        free = np.setdiff1d(np.arange(len(labels)), known)
        top = np.sort(_scores(model, x[free]), axis=1)[:, -2:] if ready else np.zeros((len(free), 2))
        size = min(batch(len(known)), min(b for b in budgets if b > len(known)) - len(known))
        known += free[np.argsort(top[:, 1] - top[:, 0], kind="stable")[:size]].tolist()


def _scores(model, x):
    if hasattr(model, "predict_proba"):
        return model.predict_proba(x)
    scores = model.decision_function(x)
    return np.column_stack([-scores, scores]) if scores.ndim == 1 else scores


class IntersectionSVC:
    """HIK-SVM over numbered rows, whose kernel matrix with the first of them is known; C by three folds.

    SVC needs the matrix itself, so that its rows are numbers here.
    """

    def __init__(self, kernel) -> None:
        self.kernel = kernel / np.diagonal(kernel).mean()

    def fit(self, rows, labels):
        """The best C for these rows."""
        folds = KFold(3, shuffle=True, random_state=0)
        self.rows, self.svc = rows, GridSearchCV(SVC(kernel="precomputed"), {"C": COSTS}, cv=folds)
        self.svc.fit(self.kernel[np.ix_(rows, rows)], labels)

    def predict(self, rows):
        """Their classes."""
        return self.svc.predict(self.kernel[np.ix_(rows, self.rows)])

    def decision_function(self, rows):
        """One against the rest."""
        return self.svc.decision_function(self.kernel[np.ix_(rows, self.rows)])


def add(curves: dict[str, list[Result]], title: str, run: Result) -> None:
    """One more run of a side, told on the way: all of them take long."""
    curves.setdefault(title, []).append(run)
    told = "   ".join(f"{budget}: {100 * accuracy:.1f}" for budget, (accuracy, _) in run.items())
    print(f"  run {len(curves[title])} of {title}: {told}", file=sys.stderr, flush=True)


class Kept:
    """Runs by set, seed and side, in a file of a line each: what is there is not run again."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        lines = path.read_text().splitlines() if path is not None and path.exists() else []
        self.runs = {
            tuple(key): {int(b): tuple(pair) for b, pair in run.items()} for key, run in map(json.loads, lines)
        }

    def run(self, key: tuple[str, int, str], make: Callable[[], Result]) -> Result:
        """The one that is kept, or a new one."""
        if key not in self.runs:
            self.runs[key] = make()
            if self.path is not None:
                with self.path.open("a") as file:
                    file.write(json.dumps([key, self.runs[key]]) + "\n")
        return self.runs[key]


def area(run: Result) -> float:
    """Mean accuracy over all budgets, by trapezoids."""
    budgets = np.array(list(run))
    return float(np.trapezoid([run[b][0] for b in run], budgets) / (budgets[-1] - budgets[0]))


def show(name: str, curves: dict[str, list[Result]], *, areas: bool = False) -> None:
    """A line for each side: accuracy in percent with its standard error, and stated less true error."""
    seeds = len(next(iter(curves.values())))
    print(f"\n{name}, {seeds} seeds: accuracy +- standard error at labels", flush=True)
    for title, runs in curves.items():
        parts = [f"area: {_mean([area(run) for run in runs])}"] if areas else []
        for budget in runs[0]:
            off = 100.0 * np.mean([run[budget][1] for run in runs])
            known = "" if np.isnan(off) else f" ({off:+.1f})"
            parts.append(f"{budget}: {_mean([run[budget][0] for run in runs])}{known}")
        print(f"  {title:32s} {'   '.join(parts)}", flush=True)
    if areas:
        _show_leads(*curves.items())


def _show_leads(ours: tuple[str, list[Result]], *others: tuple[str, list[Result]]) -> None:
    """By how much the first side is ahead of each other one, with the standard error of paired differences."""
    for title, runs in others:
        pairs = list(zip(ours[1], runs, strict=True))
        parts = [f"area: {_mean([area(a) - area(b) for a, b in pairs])}"]
        parts += [f"{n}: {_mean([a[n][0] - b[n][0] for a, b in pairs])}" for n in runs[0]]
        print(f"  {ours[0]} less {title:19s} {'   '.join(parts)}", flush=True)


def _mean(shares: list[float]) -> str:
    values = 100.0 * np.array(shares)
    error = values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else float("nan")
    return f"{values.mean():.1f} +- {error:.1f}"
