"""How sharp class probabilities are: found by what the other labels say of each."""

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from core._types import Floats, Indices

TYPICAL = 5.0  # of the sharpness times the gap between the best two means, on average
SPREAD = 0.5  # of its logarithm around that, where labels say nothing
RANGE = 6.0  # of its logarithm, to either side


def mean_gap(means: Floats) -> float:
    """The mean gap between the best and the second-best mean of rows; 1 where there is none."""
    if means.shape[1] < 2 or not len(means):
        return 1.0
    top = np.partition(means, -2, axis=1)[:, -2:]
    return float((top[:, 1] - top[:, 0]).mean()) or 1.0


def find_sharpness(left_out: Floats, labels: Indices, gap: float) -> float:
    """The factor b at which softmax(b mean) has the least log loss on labels that are predicted by the others.

    `left_out` are their leave-one-out means, n x M, and `gap` is the mean gap of the items that are to be predicted:
    with few labels b is drawn towards a typical value of b times that gap, by a log-normal prior.

    >>> means = np.array([[0.4, -0.4], [-0.2, 0.2], [0.3, -0.3], [-0.1, 0.1]])
    >>> round(find_sharpness(means, np.array([0, 1, 0, 0]), mean_gap(means)), 1)
    7.7
    """
    centre = float(np.log(TYPICAL / gap))

    def loss(log_sharpness: float) -> float:
        logs = log_softmax(np.exp(log_sharpness) * left_out, axis=1)
        prior = ((log_sharpness - centre) / SPREAD) ** 2 / 2.0
        return float(prior - logs[np.arange(len(labels)), labels].sum())

    found = minimize_scalar(loss, bounds=(centre - RANGE, centre + RANGE), method="bounded")
    return float(np.exp(found.x))
