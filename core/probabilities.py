"""Probabilities of classes from the moments of a posterior, and what follows from them."""

from typing import Literal

import numpy as np
from scipy.special import log_ndtr, logsumexp, softmax

from core._types import Floats, Indices, no_rows

Likelihood = Literal["gaussian", "softmax"]


def class_probabilities(
    likelihood: Likelihood, means: Floats, variances: Floats, sharpness: float | None = None
) -> Floats:
    """Of each class, rows x M, from means (rows x M) and the variances of targets (rows), which softmax ignores.

    Label regression whose `sharpness` was found (see core.tuning.calibration) has softmax(sharpness * means).
    """
    if not means.size:
        return means
    if sharpness is not None:
        return np.asarray(softmax(sharpness * means, axis=1))
    return probit(means, variances) if likelihood == "gaussian" else np.asarray(softmax(means, axis=1))


def probit(means: Floats, variances: Floats) -> Floats:
    """P(target > 0) of each column for targets with these means (rows x M) and variances (rows), normalised to sum 1.

    >>> probit(np.array([[0.0, 0.0]]), np.array([1.0])).tolist()
    [[0.5, 0.5]]
    """
    with np.errstate(over="ignore"):  # of classes that are all hopeless, each is as good as the other
        logs = np.maximum(log_ndtr(means / np.sqrt(variances)[:, None]), -1e300)
    return np.asarray(softmax(logs, axis=1))


def moderated_softmax(means: Floats, variances: Floats) -> Floats:
    """Softmax of means (rows x M) that are drawn together as far as they are uncertain (MacKay 1992); rows x M."""
    shrink = 1.0 / np.sqrt(1.0 + np.pi * variances / 8.0)
    return np.asarray(softmax(means * shrink[:, None], axis=1))


def log_odds(means: Floats, classes: Indices) -> Floats:
    """How much speaks for some classes, from means, rows x M: the log of their odds under softmax; rows.

    Label regression is ordered by it as well: of two classes it is twice the mean of the one; of more, whose means
    have nearly the same sum everywhere, the mean of the one decides.

    >>> log_odds(np.array([[0.2, -0.2]]), np.array([0])).round(12).tolist()
    [0.4]
    """
    others = np.setdiff1d(np.arange(means.shape[1]), classes)
    rest = logsumexp(means[:, others], axis=1) if len(others) else 0.0
    return np.asarray(logsumexp(means[:, classes], axis=1) - rest)


def error_probabilities(probabilities: Floats) -> Floats:
    """The probability that the most probable class is wrong, of each row."""
    return np.asarray(np.clip(1.0 - probabilities.max(axis=1), 0.0, 1.0))


def novelty(variances: Floats, priors: Floats) -> Floats:
    """How unlike everything labelled rows are, from 0 to 1: the share of their prior variance that labels leave.

    The prior variances are those without the constant that all rows have in common, which labels soon tell.

    >>> novelty(np.array([0.2, 1.5, 0.0]), np.array([1.0, 1.0, 0.0])).tolist()
    [0.2, 1.0, 1.0]
    """
    shares = np.divide(variances, priors, out=np.ones_like(variances), where=priors > 0.0)
    return np.minimum(shares, 1.0)


def best_class(means: Floats) -> Indices:
    """The class number with the largest mean, of each row."""
    return np.asarray(means.argmax(axis=1)) if len(means) else no_rows()


def most_probable(probabilities: Floats, means: Floats) -> Indices:
    """The class number with the largest probability, of each row; of equal ones that with the largest mean.

    >>> most_probable(np.array([[0.4, 0.4, 0.2]]), np.array([[-0.3, -0.2, 0.1]])).tolist()
    [1]
    """
    if not probabilities.size:
        return no_rows()
    best = probabilities == probabilities.max(axis=1, keepdims=True)
    return best_class(np.where(best, means, -np.inf))
