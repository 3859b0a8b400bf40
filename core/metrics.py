"""Metrics of predicted probabilities (m x C) against true classes (m)."""

from dataclasses import dataclass

import numpy as np

from core._types import Floats, Indices

BINS = 15
LEAST = 1e-15  # a probability counts as at least this, so that one certain mistake does not drown all others


@dataclass(frozen=True)
class Quality:
    """Means over rows; lower is better, except for accuracy."""

    accuracy: float
    log_loss: float
    brier: float
    calibration_error: float

    @classmethod
    def of(cls, probabilities: Floats, labels: Indices) -> "Quality":
        """All metrics at once.

        >>> Quality.of(np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([0, 1])).accuracy
        0.5
        """
        return cls(
            float((probabilities.argmax(axis=1) == labels).mean()),
            log_loss(probabilities, labels),
            brier_score(probabilities, labels),
            calibration_error(probabilities, labels),
        )


def log_loss(probabilities: Floats, labels: Indices) -> float:
    """Mean -log probability of the true class."""
    own = probabilities[np.arange(len(labels)), labels]
    return float(-np.log(np.maximum(own, LEAST)).mean())


def brier_score(probabilities: Floats, labels: Indices) -> float:
    """Mean squared distance of the probabilities from the truth, summed over the classes: 0 to 2."""
    own = probabilities[np.arange(len(labels)), labels]
    return float(((probabilities**2).sum(axis=1) - 2.0 * own + 1.0).mean())


def calibration_error(probabilities: Floats, labels: Indices, bins: int = BINS) -> float:
    """Expected calibration error: how far accuracy is from confidence in bins of equal width, weighted by their size.

    >>> round(calibration_error(np.array([[0.8, 0.2]] * 5), np.array([0, 0, 0, 0, 1])), 12)
    0.0
    """
    confidence = probabilities.max(axis=1)
    right = (probabilities.argmax(axis=1) == labels).astype(np.float64)
    place = np.minimum((confidence * bins).astype(np.int64), bins - 1)
    gaps = np.bincount(place, right - confidence, minlength=bins)
    return float(np.abs(gaps).sum() / len(labels))


def reliability_curve(probabilities: Floats, labels: Indices, bins: int = BINS) -> tuple[Floats, Floats, Indices]:
    """Mean confidence, accuracy and number of rows of each bin that has any."""
    confidence = probabilities.max(axis=1)
    right = (probabilities.argmax(axis=1) == labels).astype(np.float64)
    place = np.minimum((confidence * bins).astype(np.int64), bins - 1)
    counts = np.bincount(place, minlength=bins)
    full = counts > 0
    sums = (np.bincount(place, values, minlength=bins)[full] for values in (confidence, right))
    means = [np.asarray(total / counts[full]) for total in sums]
    return means[0], means[1], counts[full]


def error_reject_curve(probabilities: Floats, labels: Indices) -> tuple[Floats, Floats]:
    """Share of rows rejected, least sure first, and the error on the others (Seeger2008, figures 3 and 4).

    >>> rejected, errors = error_reject_curve(np.array([[0.9, 0.1], [0.6, 0.4]]), np.array([0, 1]))
    >>> rejected.tolist(), errors.tolist()
    ([0.0, 0.5], [0.5, 0.0])
    """
    order = np.argsort(-probabilities.max(axis=1), kind="stable")
    wrong = (probabilities.argmax(axis=1) != labels)[order]
    kept = np.arange(1, len(labels) + 1)
    errors = np.cumsum(wrong) / kept
    return np.asarray((1.0 - kept / len(labels))[::-1]), np.asarray(errors[::-1])


def mean_reciprocal_rank(probabilities: Floats, labels: Indices) -> float:
    """Mean of 1 / rank of the true class; the precision of Seeger2008, section 6.1. Equal classes share their ranks."""
    from scipy.stats import rankdata

    ranks = rankdata(-probabilities, axis=1)
    return float((1.0 / ranks[np.arange(len(labels)), labels]).mean())
