"""How sharp class probabilities are: found by what the other labels say of each."""

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from core._types import Floats, Indices
from core.linalg import Factor, gram
from core.posterior import LabelRegression, one_vs_all
from core.tuning.leave_one_out import leave_one_out

TYPICAL = 5.0  # of the sharpness times the gap between the best two means, on average
SPREAD = 0.5  # of its logarithm around that, where labels say nothing
RANGE = 6.0  # of its logarithm, to either side
EARLIER = 50  # labels that count as much as all later ones where it follows what was said of each label before it came
NO_GAP = 1e-9  # between means of targets of 1 and -1, below which it is rounding
MANY = 500  # labels from which on it does not


def mean_gap(means: Floats) -> float:
    """The mean gap between the best and the second-best mean of rows; 1 where there is none."""
    if means.shape[1] < 2 or not len(means):
        return 1.0
    top = np.partition(means, -2, axis=1)[:, -2:]
    gap = float((top[:, 1] - top[:, 0]).mean())
    return gap if gap > NO_GAP else 1.0


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


def asked_sharpness(model: LabelRegression, gap: float, deviation: float) -> float:
    """The sharpness for a pool, by labels that were asked for one after the other; n of them, in the order they came.

    Labels that were asked for are harder than the pool, and what the others say of them misleads: they were asked with
    a view to what was known of them. What was said of a label before it came has no such fault. So the logarithm of
    the factor goes some way (one half, and less with many labels) from what leave-one-out predictions say to what
    earlier ones say: those of each label by all before it, and those of the second half by the first.

    `gap` is the mean gap of the items that are to be predicted, `deviation` the mean standard deviation of their
    targets: predictions by fewer labels are less certain, and are brought to that.
    """
    labels, n = model.labels, len(model.labels)
    found = find_sharpness(leave_one_out(model)[0], labels, gap)
    if n > MANY:
        return found
    by_all_before, by_first_half, deviations = earlier_predictions(model)
    late = labels[n - len(by_first_half) :]
    past = find_sharpness(by_all_before * (deviation / deviations)[:, None], labels, gap)
    half = find_sharpness(by_first_half, late, gap)
    share = min(0.5, EARLIER / max(n, 1))
    return float(found ** (1.0 - share) * np.sqrt(past * half) ** share)


def earlier_predictions(model: LabelRegression) -> tuple[Floats, Floats, Floats]:
    """Means of each label by all before it (n x M), of the second half by the first, and deviations of the former (n).

    One Cholesky factor L of K + N has them all: with z = L^-1 y, label i is predicted as y_i - L_ii z_i with the
    variance L_ii^2, and the second half by the first as the lower left part of L times the first half of z.
    """
    targets, n = one_vs_all(model.labels, model.n_classes), len(model.labels)
    factor = Factor(n, lambda out: gram(model.operator, model.posterior.noise, out))
    z, lower = factor.half_solve(targets), factor.lower
    deviations, half = np.diag(lower), n // 2
    return targets - deviations[:, None] * z, lower[half:, :half] @ z[:half], deviations
