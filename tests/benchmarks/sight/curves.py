"""Accuracy by labels: our learner, pipelines that ask by margin, and how their curves are shown."""

import sys
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


def asknext(kind, pool, labels, test, truth, first, budgets, options=None, **settings: Any) -> Result:
    """Raw items with default settings but these, as the service has them."""
    encoder = fit(kind, pool, options)
    stored = StoredEncoder(kind, "", encoder.channels, {"model": encoder.model()})
    suited = stored.model(len({*labels, *truth}), len(pool))
    parts = ProjectSettings(**settings).model_parts(kind, stored.columns, suited)
    rows = encoder.encode(pool).table, encoder.encode(test).table
    return play(learner_settings(parts), rows[0], labels, rows[1], truth, first, budgets)


def of_features(**settings: Any) -> Settings:
    """The default settings of a project without an encoder, but for these."""
    return learner_settings(ProjectSettings(**settings).model_parts())


def play(settings: Settings, x, labels, x_test, truth, first, budgets) -> Result:
    """Label what is asked for, after the first items, and train as the service does."""
    classes = sorted({*labels, *truth})
    learner = OnlineLearner(settings, classes)
    learner.add_items(x)
    trained, found = 0, {}
    for n in range(1, max(budgets) + 1):
        item = first[n - 1] if n <= len(first) else learner.query(1)[0].row
        learner.label(int(item), labels[item])
        if n >= max(FIRST_TRAINING, GROWTH * trained):
            learner, trained = OnlineLearner.build(settings, x, learner.labelling(), train=True), n
        if n in budgets:
            found[n] = score(learner.predictive(x_test)[2], np.array(classes), truth)
    return found


def score(probabilities, classes, truth) -> tuple[float, float]:
    """Accuracy, and stated less true error."""
    error = float((classes[probabilities.argmax(axis=1)] != truth).mean())
    return 1.0 - error, float(1.0 - probabilities.max(axis=1).mean()) - error


def by_margin(model, x, labels, x_test, truth, first, budgets) -> Result:
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
        batch = min(5 if len(known) < 100 else 10, min(b for b in budgets if b > len(known)) - len(known))
        known += free[np.argsort(top[:, 1] - top[:, 0], kind="stable")[:batch]].tolist()


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


def _mean(shares: list[float]) -> str:
    values = 100.0 * np.array(shares)
    error = values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else float("nan")
    return f"{values.mean():.1f} +- {error:.1f}"
