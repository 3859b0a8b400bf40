"""How sharp class probabilities are: found by what the other labels say of each."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from core._types import Floats, Indices
from core.posterior import LabelRegression
from core.tuning.earlier import EARLY, MANY, earlier_predictions
from core.tuning.leave_one_out import leave_one_out

TYPICAL = 4.0  # of the sharpness times the gap between the best two means, on average
SPREAD = 0.5  # of its logarithm around that, where labels say nothing
RANGE = 6.0  # of its logarithm, to either side
DRAWN = 4.0  # labels that one of an item drawn at random counts as: asked-for ones say less of the pool
NO_GAP = 1e-9  # between means of targets of 1 and -1, below which it is rounding


def mean_gap(means: Floats) -> float:
    """The mean gap between the best and the second-best mean of rows; 1 where there is none."""
    if means.shape[1] < 2 or not len(means):
        return 1.0
    top = np.partition(means, -2, axis=1)[:, -2:]
    gap = float((top[:, 1] - top[:, 0]).mean())
    return gap if gap > NO_GAP else 1.0


def find_sharpness(left_out: Floats, labels: Indices, gap: float, weights: Floats | None = None) -> float:
    """The factor b at which softmax(b mean) has the least log loss on labels that are predicted by the others.

    `left_out` are their leave-one-out means, n x M, and `gap` is the mean gap of the items that are to be predicted:
    with few labels b is drawn towards a typical value of b times that gap, by a log-normal prior. `weights` say as how
    many labels each counts, n.

    >>> means = np.array([[0.4, -0.4], [-0.2, 0.2], [0.3, -0.3], [-0.1, 0.1]])
    >>> round(find_sharpness(means, np.array([0, 1, 0, 0]), mean_gap(means)), 1)
    6.6
    """
    centre = float(np.log(TYPICAL / gap))

    def loss(log_sharpness: float) -> float:
        logs = log_softmax(np.exp(log_sharpness) * left_out, axis=1)
        prior = ((log_sharpness - centre) / SPREAD) ** 2 / 2.0
        own = logs[np.arange(len(labels)), labels]
        return float(prior - (own.sum() if weights is None else weights @ own))

    found = minimize_scalar(loss, bounds=(centre - RANGE, centre + RANGE), method="bounded")
    return float(np.exp(found.x))


def asked_sharpness(model: LabelRegression, gap: float, deviation: float, drawn: NDArray[np.bool_]) -> float:
    """The sharpness for a pool, by labels that were asked for one after the other; n of them, in the order they came.

    Labels that were asked for are harder than the pool, and what the others say of them misleads: they were asked with
    a view to what was known of them. What was said of a label before it came has no such fault. So each label counts
    half by what all others say of it and half by what all before it said, which of the first quarter is next to
    nothing. There those that were `drawn` at random (n) count more: few as they are, they stand for the pool.

    `gap` is the mean gap of the items that are to be predicted, `deviation` the mean standard deviation of their
    targets: predictions by fewer labels are less certain, and are brought to that.
    """
    labels, n = model.labels, len(model.labels)
    by_others = leave_one_out(model)[0]
    if n > MANY:
        return find_sharpness(by_others, labels, gap)
    by_all_before, _, deviations = earlier_predictions(model)
    late = slice(n // EARLY, None)
    before = by_all_before[late] * (deviation / deviations[late])[:, None]
    weights = np.concatenate([np.full(n, 0.5), np.where(drawn[late], DRAWN, 1.0) / 2.0])
    return find_sharpness(np.vstack([by_others, before]), np.concatenate([labels, labels[late]]), gap, weights)
