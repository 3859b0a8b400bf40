"""Variances found under a kernel that stays, and latents without a label."""

from dataclasses import replace

import numpy as np
import pytest

from core.linalg import Units
from core.softmax import CrossValidation, Search, SoftmaxRegression, find_variances, laplace_posterior, left_out
from core.softmax import cross_validation as module
from tests.core.softmax.problems import TREES, operator, prior


def bare(kind, tree="flat", noise=0.0):
    op, _, y = operator(kind)
    kernel = replace(op.kernel, bias=0.0)
    return op.with_kernel(kernel), y, prior(TREES[tree], kernel, noise=noise)


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("kind", ["hik", "rbf"])
def test_a_matrix_gives_the_criterion_and_the_gradient_of_its_operator(kind, tree, monkeypatch):
    monkeypatch.setattr(module, "TOLERANCE", 1e-11)
    op, y, start = bare(kind, tree, noise=0.2)
    matrix = op.cross(op.training_rows(np.arange(len(op))))
    by_operator, by_matrix = (CrossValidation(op, y, start, folds=3, matrix=one) for one in (None, matrix))
    (value, by), (same, same_by) = by_operator(start), by_matrix(start)
    assert same == pytest.approx(value, rel=1e-9)
    search = Search.of(start, "depth", intercept=True)
    assert np.allclose(search.gradient(start, same_by), search.gradient(start, by), rtol=1e-6)


@pytest.mark.parametrize("kind", ["hik", "rbf"])
def test_found_variances_are_better_than_others(kind):
    op, y, start = bare(kind)
    shared = replace(start, variances=np.full_like(start.variances, 1e-3))
    found = find_variances(op, y, shared)
    criterion = CrossValidation(op, y, found.prior)
    best = criterion(found.prior, gradient=False)[0]
    assert best == pytest.approx(found.value, rel=1e-3)
    for factor in (0.1, 10.0):
        other = replace(found.prior, variances=factor * found.prior.variances)
        assert best < criterion(other, gradient=False)[0] + 5e-3
    again = find_variances(op, y, shared, last=found.prior)
    assert again.value == pytest.approx(best, rel=5e-3)


def test_variances_have_a_limit_in_units_of_the_data():
    op, y, start = bare("rbf")
    found = find_variances(op, y, start, most=0.5)
    size = Units.of([op]).size(op.kernel) * op.kernel.amplitude
    assert (found.prior.variances * size <= 0.5 + 1e-9).all()
    steps = []
    with pytest.raises(ZeroDivisionError):
        find_variances(op, y, start, on_step=lambda: steps.append(1 / (2 - len(steps))))
    assert len(steps) == 2


@pytest.mark.parametrize("kind", ["hik", "stored"])
def test_latents_without_a_label_are_near_those_of_a_fit_without_it(kind):
    op, y, start = bare(kind)
    model = SoftmaxRegression(op, y, replace(start, variances=np.full_like(start.variances, 4.0)))
    found = left_out(model, laplace_posterior(model))
    errors = []
    for i in range(0, len(y), 5):
        rest = np.delete(np.arange(len(y)), i)
        other = SoftmaxRegression(op.only(rest), y[rest], model.prior)
        latents = other.latents(op.training_rows(np.array([i])))[0]
        errors.append((found[i] - (latents - latents.mean()), model.solution.latents[i, 0] - latents))
    own, plain = (np.abs(part).mean() for part in zip(*errors, strict=True))
    assert own < 0.4 * plain
