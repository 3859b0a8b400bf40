import numpy as np
import pytest
from scipy.stats import multivariate_normal

from core.histograms import Histograms, raw_rows
from core.kernels import IntersectionKernel, LinearKernel, RBFKernel
from core.linalg import DenseOperator, HistogramOperator
from core.tuning import DualCriterion, LevelCriterion
from tests.core.data import continuous, size, word_counts
from tests.reference.dense import DenseGP, hik, targets

N, D = size(60, 14), 5
NOISE = 0.17


def intersection(transform=None, eta=1.3):
    return IntersectionKernel(np.array([0.7, 1.6, 0.4]), np.arange(D) % 3, 0.6, transform, eta)


def problem(kernel, *, rows=None):
    if isinstance(kernel, IntersectionKernel):
        x, y = word_counts(N, D, 3, words=9)
        histograms = Histograms.of(x[:-3], None)
        histograms.append(raw_rows(x[-3:] * 0.9))  # ids are no longer in sorted order
        return HistogramOperator(histograms, kernel), targets(y, 3), np.vstack([x[:-3], x[-3:] * 0.9])
    x = np.random.default_rng(0).normal(size=(N, D))
    return DenseOperator(x, kernel), targets(np.arange(N) % 3, 3), x


CASES = [
    *(
        (kind, intersection(transform))
        for kind in (DualCriterion, LevelCriterion)
        for transform in (None, "power", "exp")
    ),
    (DualCriterion, RBFKernel(np.array([0.7, 1.6, 0.4]), np.arange(D) % 3, 0.6, 0.3, 1.4)),
    (DualCriterion, LinearKernel(np.array([0.7, 1.6, 0.4]), np.arange(D) % 3, 0.6)),
]
IDS = [f"{kind.__name__}-{type(kernel).__name__}-{getattr(kernel, 'transform', '')}" for kind, kernel in CASES]
SHAPE = np.linspace(0.5, 1.5, N)


@pytest.mark.parametrize("name", ["evidence", "loo"])
@pytest.mark.parametrize(("kind", "kernel"), CASES, ids=IDS)
def test_every_gradient_against_finite_differences(kind, kernel, name):
    operator, y, _ = problem(kernel)
    criterion = kind(operator, y, SHAPE, name)
    found = criterion(kernel, NOISE, gradient=True)
    assert found.value == pytest.approx(criterion(kernel, NOISE).value, rel=1e-12)
    step = 1e-5
    for j in range(len(kernel.theta)):
        move = np.zeros(len(kernel.theta))
        move[j] = step
        upper, lower = (criterion(kernel.with_theta(kernel.theta + sign * move), NOISE).value for sign in (1, -1))
        assert found.by_theta[j] == pytest.approx((upper - lower) / (2 * step), rel=1e-5, abs=1e-7), kernel.names[j]
    upper, lower = (criterion(kernel, NOISE * np.exp(sign * step)).value for sign in (1, -1))
    assert found.by_log_noise == pytest.approx((upper - lower) / (2 * step), rel=1e-5, abs=1e-7)


@pytest.mark.parametrize(("kind", "kernel"), CASES, ids=IDS)
def test_evidence_is_the_likelihood(kind, kernel):
    operator, y, _ = problem(kernel)
    K = np.column_stack([operator.product(column[:, None])[:, 0] for column in np.eye(N)]) + np.diag(NOISE * SHAPE)
    expected = -sum(multivariate_normal(np.zeros(N), K).logpdf(column) for column in y.T)
    found = kind(operator, y, SHAPE, "evidence")(kernel, NOISE)
    assert found.value == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("kind", [DualCriterion, LevelCriterion])
def test_leave_one_out_is_leaving_one_out(kind):
    kernel = intersection("power")
    operator, y, x = problem(kernel)
    K = hik(x, x, transform="power", eta=kernel.eta, weights=kernel.dim_weights, bias=kernel.bias)
    errors, ratios = [], []
    for i in range(N):
        rest = np.delete(np.arange(N), i)
        gp = DenseGP(K[np.ix_(rest, rest)], y[rest], NOISE * SHAPE[rest])
        error = y[i] - gp.means(K[rest, i : i + 1])[0]
        variance = gp.variance(K[rest, i : i + 1], K[i, i])[0] + NOISE * SHAPE[i]
        errors.append(error**2)
        ratios.append(error**2 / variance)
    found = kind(operator, y, SHAPE, "loo")(kernel, NOISE)
    assert found.value == pytest.approx(np.mean(errors), rel=1e-8)
    assert found.amplitude == pytest.approx(np.mean(ratios), rel=1e-8)


@pytest.mark.parametrize("kind", [DualCriterion, LevelCriterion])
def test_the_amplitude_calibrates_and_does_not_move_the_error(kind):
    kernel = intersection()
    operator, y, _ = problem(kernel)
    criterion = kind(operator, y, SHAPE, "loo")
    first = criterion(kernel, NOISE)
    theta = kernel.theta.copy()
    theta[1:] *= first.amplitude  # all but eta
    second = criterion(kernel.with_theta(theta), NOISE * first.amplitude)
    assert second.value == pytest.approx(first.value, rel=1e-9)
    assert second.amplitude == pytest.approx(1.0)
    criterion = kind(operator, y, SHAPE, "evidence")
    scales = np.linspace(0.5, 2.0, 31)
    best = criterion(kernel, NOISE).amplitude
    theta[1:] = kernel.theta[1:] * best
    lowest = criterion(kernel.with_theta(theta), NOISE * best).value
    for scale in scales:
        theta[1:] = kernel.theta[1:] * best * scale
        assert criterion(kernel.with_theta(theta), NOISE * best * scale).value >= lowest - 1e-9


def test_quantised_rows_and_one_column():
    x = continuous(N, D)
    kernel = intersection()
    operator = HistogramOperator(Histograms.of(x, 4), kernel)
    y = np.sign(x.sum(axis=1, keepdims=True) - x.sum(axis=1).mean())
    for name in ("loo", "evidence"):
        results = [
            kind(operator, y, np.ones(N), name)(kernel, 0.2, gradient=True) for kind in (DualCriterion, LevelCriterion)
        ]
        assert results[0].value == pytest.approx(results[1].value, rel=1e-9)
        assert np.allclose(results[0].by_theta, results[1].by_theta, rtol=1e-6, atol=1e-9)
        assert results[0].by_log_noise == pytest.approx(results[1].by_log_noise, rel=1e-6)
