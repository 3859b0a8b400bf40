from dataclasses import replace

import numpy as np
import pytest

from core.softmax import CrossValidation, PriorGradient, Search, SoftmaxRegression, tune_prior
from core.softmax import cross_validation as module
from core.softmax.search import BOUNDS
from tests.core.softmax.problems import TREES, N, operator, prior


@pytest.fixture(autouse=True)
def tight(monkeypatch):
    monkeypatch.setattr(module, "TOLERANCE", 1e-11)


def test_the_criterion_is_the_likelihood_of_what_was_left_out():
    op, _, y = operator("hik")
    parameters = prior(TREES["tree"], op.kernel, noise=0.2)
    criterion = CrossValidation(op, y, parameters, folds=3)
    value, _ = criterion(parameters, gradient=False)
    total = 0.0
    for k in range(3):
        out = criterion._held_out[:, k] > 0.0
        model = SoftmaxRegression(op.only(np.flatnonzero(~out)), y[~out], parameters, tolerance=1e-11)
        p = model.probabilities(op.training_rows(np.flatnonzero(out)))
        total -= np.log(p[np.arange(out.sum()), y[out]]).sum()
    assert value == pytest.approx(total / N, rel=1e-8)


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("kind", ["hik", "stored", "sparse"])
def test_every_gradient_against_finite_differences(kind, tree, own):
    op, _, y = operator(kind)
    start = prior(TREES[tree], op.kernel, own=own, noise=0.3, variance=3.0)
    search = Search(np.arange(len(start.tree)), op.kernel.names, not own, intercept=True, noise=True)
    criterion = CrossValidation(op, y, start, folds=3)
    logs = search.logs(start)
    assert np.allclose(search.logs(search.at(start, logs)), logs)
    _, by = criterion(start)
    found = search.gradient(start, by)
    assert found.shape == logs.shape
    step = 1e-4
    for j in range(len(logs)):
        move = np.zeros(len(logs))
        move[j] = step
        upper, lower = (criterion(search.at(start, logs + sign * move), gradient=False)[0] for sign in (1, -1))
        assert found[j] == pytest.approx((upper - lower) / (2 * step), rel=1e-4, abs=1e-7), j


def test_rows_count_in_the_criterion_as_often_as_they_stand_there():
    op, _, y = operator("stored")
    parameters = prior(TREES["flat"], op.kernel, noise=0.2)
    counts = np.where(np.arange(N) % 4 == 0, 0.0, 0.5 + np.arange(N) % 3)
    criterion = CrossValidation(op, y, parameters, counts=counts, folds=3)
    value, by = criterion(parameters)
    total = 0.0
    for k in range(3):
        out = criterion._held_out[:, k] > 0.0
        learnt = np.flatnonzero(~out & (counts > 0.0))
        model = SoftmaxRegression(op.only(learnt), y[learnt], parameters, counts=counts[learnt], tolerance=1e-11)
        p = model.probabilities(op.training_rows(np.flatnonzero(out)))
        total -= counts[out] @ np.log(p[np.arange(out.sum()), y[out]])
    assert value == pytest.approx(total / counts.sum(), rel=1e-8)
    search = Search(np.arange(3), op.kernel.names, intercept=True, noise=True)
    logs, found = search.logs(parameters), search.gradient(parameters, by)
    for j, move in enumerate(np.eye(len(logs)) * 1e-4):
        upper, lower = (criterion(search.at(parameters, logs + sign * move), gradient=False)[0] for sign in (1, -1))
        assert found[j] == pytest.approx((upper - lower) / 2e-4, rel=1e-4, abs=1e-7), j


def test_variances_that_move_together():
    op, _, _ = operator("hik")
    parameters = prior(TREES["tree"], op.kernel)
    for tie, groups in {"shared": [0] * 5, "depth": [2, 2, 1, 1, 0], "branch": [0] * 5, "node": range(5)}.items():
        search = Search.of(parameters, tie)
        same = search.ties[:, None] == search.ties
        assert np.array_equal(same, np.array(groups)[:, None] == np.array(groups)), tie
    assert len(Search.of(parameters, "depth", theta=("eta",), intercept=True).logs(parameters)) == 5


@pytest.mark.parametrize("tie", ["shared", "depth"])
def test_the_gradient_of_what_moves_together(tie):
    op, _, y = operator("stored")
    start = prior(TREES["tree"], op.kernel, variance=3.0)
    search = Search.of(start, tie, theta=("gamma",), intercept=True)
    criterion, logs = CrossValidation(op, y, start, folds=3), search.logs(start)
    tied = search.at(start, logs)
    found = search.gradient(tied, criterion(tied)[1])
    for j, move in enumerate(np.eye(len(logs)) * 1e-4):
        upper, lower = (criterion(search.at(start, logs + sign * move), gradient=False)[0] for sign in (1, -1))
        assert found[j] == pytest.approx((upper - lower) / 2e-4, rel=1e-4, abs=1e-7), j


def test_the_search_lowers_the_criterion_and_ignores_uncertain_rows(monkeypatch):
    monkeypatch.setattr(module, "TOLERANCE", 1e-7)
    op, _, y = operator("stored")
    tree = TREES["tree"]
    labels = np.where(np.arange(N) % 5 == 0, 4, y)
    start = prior(tree, op.kernel, variance=0.01)
    criterion = CrossValidation(op, labels, start)
    steps = []
    found = tune_prior(criterion, start, Search.of(start, "depth", theta=("gamma",)), on_step=lambda: steps.append(1))
    assert found.value < criterion(start, gradient=False)[0] - 1e-3
    assert found.evaluations == len(steps)
    assert (found.prior.variances > start.variances).any()
    certain = np.flatnonzero(labels < 3)
    alone = CrossValidation(op.only(certain), labels[certain], start)
    assert alone(start, gradient=False)[0] == pytest.approx(criterion(start, gradient=False)[0], rel=1e-6)


def test_a_fit_that_fails_is_no_start_for_the_next(monkeypatch):
    op, _, y = operator("stored")
    parameters = prior(TREES["flat"], op.kernel)
    criterion = CrossValidation(op, y, parameters)
    criterion(parameters)
    before = criterion._weights
    found = module.fit
    monkeypatch.setattr(module, "fit", lambda *a, **k: replace(found(*a, **k), converged=False))
    criterion(prior(TREES["flat"], op.kernel, variance=1.0))
    assert criterion._weights is before


class Bowl:
    """A criterion that is lowest where the variance is 7, of a hundred rows."""

    def __len__(self):
        return 100

    def __call__(self, prior, *, gradient=True):
        away = np.log(prior.variances[0] / 7.0)
        nothing = [np.zeros(len(kernel.theta)) for kernel in prior.kernels]
        slope = np.append(2e3 * away / prior.variances[0], np.zeros(len(prior.variances) - 1))
        return 1e3 * away**2, PriorGradient(slope, nothing, 0.0, 0.0)


def test_a_rough_fit_that_stops_early_is_no_warning(monkeypatch):
    """Nobody could do anything about it: the search goes on elsewhere, and what it ends with is fitted anew."""
    monkeypatch.setattr(module, "MAX_STEPS", 2)
    op, _, y = operator("hik")
    parameters = prior(TREES["flat"], op.kernel)
    value, _ = CrossValidation(op, y, parameters, folds=3)(parameters, gradient=False)
    assert 0.0 < value < np.log(3)


def test_the_search_ends_at_the_bottom():
    op, _, _ = operator("stored")
    start = prior(TREES["flat"], op.kernel, variance=300.0)
    found = tune_prior(Bowl(), start, Search.of(start))
    assert found.prior.variances == pytest.approx([7.0] * 3, rel=0.01)
    assert found.evaluations < 30


def test_what_is_at_a_bound():
    op, _, _ = operator("stored")
    start = prior(TREES["flat"], op.kernel)
    search = Search.of(start, theta=("gamma",), intercept=True)
    low, high = BOUNDS

    def at(variance, gamma=1.0, intercept=1.0):
        kernel = replace(op.kernel, gamma=gamma)
        return search.at_bounds(replace(start, variances=np.full(3, variance), kernels=(kernel,), intercept=intercept))

    assert at(5.0) == []
    assert at(high) == [("variance", pytest.approx(high))]
    assert at(low, 1e4) == [("variance", pytest.approx(low)), ("gamma", pytest.approx(1e4))]
    assert at(5.0, intercept=low) == []


def test_one_kernel_moves_as_one():
    op, _, _ = operator("stored")
    one, own = (prior(TREES["flat"], op.kernel, own=own) for own in (False, True))
    assert len(Search.of(one, theta=("gamma",)).logs(one)) == 2
    assert len(Search.of(own, theta=("gamma",)).logs(own)) == 4
