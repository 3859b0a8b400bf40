"""How good the model is, from sides that are no guarantee, and how it became so: the learning curve."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from core._types import Floats, Indices

Bools = NDArray[np.bool_]

CONFIDENCE = 0.95
ENOUGH = 20  # answers below which a share says little
WINDOW = 50  # answers that a point of the learning curve looks back on
MAX_POINTS = 60  # of a learning curve

LEFT_OUT = "leave-one-out accuracy"


@dataclass(frozen=True)
class Estimate:
    """One estimate, and in words what it is; `low` and `high` bound it with 95 % confidence where that can be said."""

    name: str
    value: float | None
    low: float | None
    high: float | None
    meaning: str


def interval(right: int, total: int) -> tuple[float, float]:
    """Exact (Clopper-Pearson) bounds of a share.

    >>> [round(bound, 3) for bound in interval(18, 20)]
    [0.683, 0.988]
    """
    tail = (1.0 - CONFIDENCE) / 2
    low = float(betaincinv(right, total - right + 1, tail)) if right else 0.0
    high = float(betaincinv(right + 1, total - right, 1 - tail)) if right < total else 1.0
    return low, high


def estimates(outcomes: Bools, before: Indices, now: Indices, uncertainty: Floats) -> list[Estimate]:
    """From three sides: labels that others predict, the pool's classes some labels ago and now, and its doubts."""
    return [leave_one_out_accuracy(outcomes), stability(before, now), pool_uncertainty(uncertainty)]


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


def leave_one_out_accuracy(outcomes: Bools) -> Estimate:
    """Of the labels, each predicted from all others. Labels that were asked for are harder than the pool."""
    n, right = len(outcomes), int(outcomes.sum())
    if n < ENOUGH:
        return Estimate(LEFT_OUT, None, None, None, f"{n} labels are too few, {ENOUGH} are needed")
    meaning = f"{right} of {n} labels are predicted by all the others; those asked for are harder than most items"
    return Estimate(LEFT_OUT, right / n, *interval(right, n), meaning)


def stability(before: Indices, now: Indices) -> Estimate:
    """Share of items whose predicted class is the same as some labels ago."""
    name = "stability of predictions"
    if len(before) == 0 or len(before) > len(now):
        return Estimate(name, None, None, None, "there is nothing to compare with yet")
    share = float((before == now[: len(before)]).mean())
    return Estimate(name, share, None, None, "this share of the predictions is the same as 20 to 40 labels ago")


def pool_uncertainty(uncertainty: Floats) -> Estimate:
    """Mean over the pool of the probability that the predicted class is wrong."""
    name = "mean pool uncertainty"
    if not len(uncertainty):
        return Estimate(name, None, None, None, "there is nothing to be sure of yet")
    meaning = "the model itself expects to be wrong on this share of the items"
    return Estimate(name, float(uncertainty.mean()), None, None, meaning)
