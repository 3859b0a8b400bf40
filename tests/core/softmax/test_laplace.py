from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax

from core.classes import ClassTree
from core.models import softmax_state
from core.models.look_ahead import one_posterior
from core.models.softmax_state import SoftmaxState
from core.queries import STRATEGIES, pick
from core.softmax import Prior, SoftmaxRegression, centred, laplace_posterior, row_weights
from tests.core.data import size, word_counts
from tests.core.softmax.problems import operator
from tests.reference import softmax as reference

N = size(50, 20)


def problem(n_classes, kind="hik", noise=0.0):
    op, _, y = operator(kind, N)
    model = SoftmaxRegression(op.only(np.arange(N // 2)), y[: N // 2] % n_classes, make_prior(op, n_classes, noise))
    return model, op.training_rows(np.arange(N // 2, N)), op


def make_prior(op, n_classes, noise=0.0):
    return replace(Prior.shared(ClassTree.flat(n_classes), op.kernel, 6.0, 0.5), noise=noise)


def exact_variance(model, op, n_classes):
    """Trace of the Laplace covariance of each later row, without what all classes share, over C - 1."""
    K = 6.0 * op.cross(op.training_rows(np.arange(N))) + 0.5
    known, eye = np.arange(N // 2), np.eye(n_classes)
    pi = softmax(model.solution.latents[:, 0], axis=1)
    joint = np.kron(K[np.ix_(known, known)] + model.prior.noise * np.eye(N // 2), eye)
    middle = eye - 1.0 / n_classes
    out = []
    for i in range(N // 2, N):
        cross = np.kron(K[known, i][:, None], eye)
        covariance = reference.laplace_covariance(joint, pi, cross, K[i, i] * eye)
        out.append(np.trace(middle @ covariance @ middle) / (n_classes - 1))
    return np.array(out)


@pytest.mark.parametrize("noise", [0.0, 2.0])
def test_two_classes_have_the_exact_laplace_variance(noise):
    model, later, op = problem(2, noise=noise)
    found = laplace_posterior(model).variance(later)
    assert np.allclose(found, exact_variance(model, op, 2), rtol=1e-4)


@pytest.mark.parametrize("kind", ["hik", "stored"])
def test_more_classes_have_nearly_the_laplace_variance(kind):
    model, later, op = problem(3, kind)
    found, exact = laplace_posterior(model).variance(later), exact_variance(model, op, 3)
    assert np.corrcoef(found, exact)[0, 1] > 0.95
    assert np.abs(found / exact - 1.0).max() < 0.5


def pool(n_classes=3):
    model, later, op = problem(n_classes)
    posterior = laplace_posterior(model)
    rows = np.arange(N // 2, N)
    mean = centred(model.latents(later))
    covariance = lambda a, b: posterior.covariance(op.training_rows(b))(op.training_rows(a))  # noqa: E731
    kernel = lambda a, b: op.cross(op.training_rows(b))[a]  # noqa: E731
    noise = 1.0 / row_weights(softmax(mean, axis=1)).mean()
    variance = posterior.variance(later)
    around = one_posterior(mean[::2], variance[::2], noise)
    known = np.arange(N // 2)
    own = lambda items: kernel(items, items).diagonal()  # noqa: E731
    return SoftmaxState(mean, variance, noise, rows, covariance, kernel, rows[::2], known, around=around, own=own)


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_can_use_it(name):
    state = replace(pool(), wanted=np.array([0]))
    scores = STRATEGIES[name](state, 0)
    assert scores.shape == (len(state),)
    assert np.isfinite(scores).all()
    rows = [chosen.row for chosen in pick(state, name, 4, seed=1)]
    assert len(set(rows)) == 4
    assert set(rows) <= set(state.rows.tolist())


def test_information_is_that_of_many_draws():
    state = pool()
    draws = np.random.default_rng(1).normal(size=(40_000 // 20, 1, 3))
    for i in range(0, len(state), 5):
        p = softmax(state.mean[i] + np.sqrt(state.variance[i]) * draws[:, 0], axis=1)
        entropy = lambda q: -(q * np.log(q)).sum(axis=-1)  # noqa: E731
        expected = entropy(p.mean(axis=0)) - entropy(p).mean()
        assert state.information[i] == pytest.approx(expected, rel=0.25, abs=0.01)
        assert state.probabilities[i] == pytest.approx(p.mean(axis=0), abs=0.06)


def test_no_uncertainty_no_information():
    state = pool()
    known = state.asked(0, np.zeros(len(state)))
    assert isinstance(known, SoftmaxState)
    assert np.allclose(known.information, 0.0, atol=1e-12)
    assert np.allclose(known.probabilities, softmax(known.mean, axis=1))


def test_many_classes():
    _, y = word_counts(30, 4, 3)
    many = SoftmaxState(
        np.zeros((2, 22_000)), np.ones(2), 1.0, np.arange(2), lambda a, b: a, lambda a, b: a, y[:1], y[:1]
    )
    assert (many.information > 0.0).all()


def test_surprises_are_what_each_answer_would_change():
    state = pool()
    answers = np.eye(3)
    expected = [[np.abs(answer - p).sum() for answer in answers] for p in state.probabilities]
    assert np.allclose(state.surprises, state.noise * np.array(expected))


def test_a_row_that_counts_twice_is_two_rows():
    op, _, y = operator("hik", N)
    rows, later = np.arange(N // 2), op.training_rows(np.arange(N // 2, N))
    twice = np.append(rows, [3, 5])
    counts = np.bincount(twice).astype(float)
    counted = SoftmaxRegression(op.only(rows), y[rows] % 2, make_prior(op, 2), counts=counts)
    repeated = SoftmaxRegression(op.only(twice), y[twice] % 2, make_prior(op, 2))
    assert np.allclose(
        laplace_posterior(counted).variance(later), laplace_posterior(repeated).variance(later), rtol=1e-4
    )


def test_draws_are_mirrored():
    draws = softmax_state._draws(3)
    assert draws.shape == (2 * softmax_state.DRAWS, 3)
    assert np.allclose(draws.mean(axis=0), 0.0)
    assert np.allclose(draws.std(axis=0), 1.0, atol=0.1)
