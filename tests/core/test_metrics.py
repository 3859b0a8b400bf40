import numpy as np
import pytest
from sklearn import metrics

from core.metrics import (
    Quality,
    brier_score,
    calibration_error,
    error_reject_curve,
    log_loss,
    mean_reciprocal_rank,
    reliability_curve,
)

RNG = np.random.default_rng(0)
P = RNG.dirichlet(np.ones(4), size=500)
Y = np.array([RNG.choice(4, p=p) for p in P])


def test_figures_are_those_of_others():
    assert log_loss(P, Y) == pytest.approx(metrics.log_loss(Y, P, labels=range(4)))
    assert brier_score(P, Y) == pytest.approx(((P - np.eye(4)[Y]) ** 2).sum(axis=1).mean())
    expected = np.mean([1 / (1 + (p > p[y]).sum()) for p, y in zip(P, Y, strict=True)])
    assert mean_reciprocal_rank(P, Y) == pytest.approx(expected)
    found = Quality.of(P, Y)
    assert found.accuracy == metrics.accuracy_score(Y, P.argmax(axis=1))
    assert (found.log_loss, found.brier) == (log_loss(P, Y), brier_score(P, Y))
    assert found.calibration_error == calibration_error(P, Y)


def test_a_certain_mistake_is_finite():
    assert np.isfinite(log_loss(np.array([[1.0, 0.0]]), np.array([1])))


def test_calibration_error_by_bins():
    total = 0.0
    confidence, right = P.max(axis=1), P.argmax(axis=1) == Y
    for low in np.arange(10) / 10:
        inside = (confidence >= low) & (confidence < low + 0.1)
        if inside.any():
            total += inside.mean() * abs(right[inside].mean() - confidence[inside].mean())
    assert calibration_error(P, Y, bins=10) == pytest.approx(total)
    assert calibration_error(P, Y) < calibration_error(np.eye(4)[P.argmax(axis=1)], Y)  # too sure
    means, accuracy, counts = reliability_curve(P, Y, bins=10)
    assert np.abs(means - accuracy) @ counts / 500 == pytest.approx(total)
    assert counts.sum() == 500


def test_error_reject_curve():
    rejected, errors = error_reject_curve(P, Y)
    assert rejected[0] == 0.0
    assert errors[0] == pytest.approx(np.mean(P.argmax(axis=1) != Y))
    sure = np.argsort(-P.max(axis=1))[:200]
    assert errors[np.argmin(np.abs(rejected - 0.6))] == pytest.approx(np.mean(P.argmax(axis=1)[sure] != Y[sure]))
