"""When to stop: estimates of how good the model is, each with a plain recommendation and its reason."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from core._types import Floats, Indices
from core.insight.track_record import TrackRecord

Bools = NDArray[np.bool_]

CONFIDENCE = 0.95
GOOD_ACCURACY = 0.95
STABLE = 0.99
SURE = 0.05
ENOUGH = 20  # answers below which a share says little
WINDOW = 50  # answers that a point of the learning curve looks back on
MAX_POINTS = 60  # of a learning curve


@dataclass(frozen=True)
class Advice:
    """One estimate. `low` and `high` bound it with 95 % confidence where that can be said."""

    name: str
    value: float | None
    low: float | None
    high: float | None
    stop: bool
    reason: str


def interval(right: int, total: int) -> tuple[float, float]:
    """Exact (Clopper-Pearson) bounds of a share.

    >>> [round(bound, 3) for bound in interval(18, 20)]
    [0.683, 0.988]
    """
    tail = (1.0 - CONFIDENCE) / 2
    low = float(betaincinv(right, total - right + 1, tail)) if right else 0.0
    high = float(betaincinv(right + 1, total - right, 1 - tail)) if right < total else 1.0
    return low, high


def advice(outcomes: Bools, record: TrackRecord, guesses: Indices, uncertainty: Floats) -> list[Advice]:
    """From four sides: labels that others predict, items drawn at random, the pool's classes and its doubts."""
    return [
        leave_one_out_accuracy(outcomes),
        random_accuracy(np.array(list(record.outcomes.values()), dtype=np.int64)),
        stability(record.guesses, guesses),
        pool_uncertainty(uncertainty),
    ]


@dataclass(frozen=True)
class CurvePoint:
    """How good the model was when there were so many labels; `judged` answers tell, with bounds of 95 % confidence."""

    labels: int
    accuracy: float
    low: float
    high: float
    judged: int


def learning_curve(labels: Indices, right: Indices) -> list[CurvePoint]:
    """From items drawn at random: how many labels there were at each, and whether the model predicted it (1 or 0).

    What is estimated is the share of the unlabelled items of that time which the model classes right, before it has
    seen their labels. Items that the strategy asked for are harder than most and do not count. A point looks back on at
    most 50 answers, so it lags behind a model that learns fast, and neighbouring points share answers.

    >>> point = learning_curve(np.array([10, 30]), np.array([0, 1]))[-1]
    >>> point.labels, point.accuracy, point.judged
    (30, 0.5, 2)
    """
    points = []
    for end in np.unique(np.linspace(1, len(right), min(len(right), MAX_POINTS)).astype(np.int64)):
        window = right[max(0, end - WINDOW) : end]
        low, high = interval(int(window.sum()), len(window))
        points.append(CurvePoint(int(labels[end - 1]), float(window.mean()), low, high, len(window)))
    return points


def leave_one_out_accuracy(outcomes: Bools) -> Advice:
    """Of the labels, each predicted from all others. Labels that were asked for are harder than the pool."""
    name = "leave-one-out accuracy"
    if len(outcomes) < ENOUGH:
        return Advice(name, None, None, None, False, f"go on: {len(outcomes)} labels are too few, {ENOUGH} are needed")
    right = int(outcomes.sum())
    low, high = interval(right, len(outcomes))
    return _share_advice(name, right / len(outcomes), low, high, "of the labels are predicted by the others")


def random_accuracy(right: Indices) -> Advice:
    """Of items that were drawn at random and predicted before they were labelled (1 right, 0 wrong)."""
    name = "accuracy on random items"
    if len(right) < ENOUGH:
        reason = f"go on: {len(right)} items were drawn at random, {ENOUGH} are needed"
        return Advice(name, None, None, None, False, reason)
    low, high = interval(int(right.sum()), len(right))
    return _share_advice(name, float(right.mean()), low, high, "of the items drawn at random were predicted right")


def stability(before: Indices, now: Indices) -> Advice:
    """Share of items whose predicted class is the same as some labels ago."""
    name = "stability of predictions"
    if len(before) == 0 or len(before) > len(now):
        return Advice(name, None, None, None, False, "go on: there is nothing to compare with yet")
    share = float((before == now[: len(before)]).mean())
    stop = share >= STABLE
    word = "can stop" if stop else "go on"
    return Advice(name, share, None, None, stop, f"{word}: {share:.1%} of the predictions did not change")


def pool_uncertainty(uncertainty: Floats) -> Advice:
    """Mean over the pool of the probability that the predicted class is wrong."""
    name = "mean pool uncertainty"
    if not len(uncertainty):
        return Advice(name, None, None, None, False, "go on: there is nothing to be sure of yet")
    doubt = float(uncertainty.mean())
    stop = doubt <= SURE
    word = "can stop" if stop else "go on"
    return Advice(
        name, doubt, None, None, stop, f"{word}: by its own estimate the model errs on {doubt:.1%} of the pool"
    )


def _share_advice(name: str, value: float, low: float, high: float, what: str) -> Advice:
    stop = low >= GOOD_ACCURACY
    word = "can stop" if stop else "go on"
    reason = f"{word}: {value:.1%} {what} (95 % sure of {low:.1%} to {high:.1%}; stop from {GOOD_ACCURACY:.0%})"
    return Advice(name, value, low, high, stop, reason)
