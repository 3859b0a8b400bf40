"""Matrices that are kept for a search are those of the plain operator."""

from dataclasses import replace

import numpy as np
import pytest

from core.histograms import Histograms
from core.kernels import IntersectionKernel, NormalisedIntersectionKernel
from core.linalg import HistogramOperator, histogram_operator, keeping_matrices
from core.linalg import group_matrices as module
from core.linalg.group_matrices import GroupMatrices
from core.tuning import DualCriterion
from tests.core.data import word_counts
from tests.reference.dense import hik, targets

N, D = 40, 6
GROUPS = np.arange(D) % 3
KERNEL = IntersectionKernel(np.array([0.7, 1.6, 0.4]), GROUPS, bias=0.6)


def words():
    return word_counts(N, D, 3, words=40)


def plain(kernel=KERNEL):
    return histogram_operator(Histograms.of(words()[0]), kernel)


@pytest.mark.parametrize("weights", [[0.7, 1.6, 0.4], [0.0, 2.0, 5.0]])
def test_they_are_the_matrix_and_the_gradient_under_any_weights(weights):
    kernel = replace(KERNEL, weights=np.array(weights), bias=1.3)
    kept, x = keeping_matrices(plain()).with_kernel(kernel), words()[0]
    assert isinstance(kept, GroupMatrices)
    assert np.allclose(kept.kernel_matrix(), hik(x, x, weights=kernel.dim_weights, bias=1.3), rtol=1e-12)
    gradient = np.random.default_rng(0).normal(size=(N, N))
    gradient += gradient.T
    assert np.allclose(kept.pull_back_matrix(gradient), plain(kernel).pull_back_matrix(gradient), rtol=1e-9)
    e, f = np.random.default_rng(1).normal(size=(2, N, 3))
    assert np.allclose(kept.pull_back(e, f), plain(kernel).pull_back(e, f), rtol=1e-9)
    rows = np.array([3, 0, 7])
    for own, other in ((kept, plain(kernel)), (kept.only(rows), plain(kernel).only(rows))):
        assert np.allclose(own.product(e[: len(own)]), other.product(e[: len(own)]), rtol=1e-12)


def test_a_search_computes_them_once(monkeypatch):
    looks, cross = [], HistogramOperator.cross
    monkeypatch.setattr(HistogramOperator, "cross", lambda *args: looks.append(1) or cross(*args))
    criterion = DualCriterion(plain(), targets(words()[1], 3), np.ones(N), "loo")
    for noise in (0.1, 0.2, 0.4):
        criterion(replace(KERNEL, weights=np.array([noise, 1.0, 2.0])), noise, gradient=True)
    assert len(looks) == len(KERNEL.weights)


@pytest.mark.parametrize(
    "kernel",
    [
        replace(KERNEL, transform="power", eta=1.3),
        NormalisedIntersectionKernel(KERNEL.weights, GROUPS, 0.6),
        IntersectionKernel(np.ones(D), np.arange(D), 0.6),  # more groups than a row has columns
    ],
)
def test_nothing_is_kept_that_changes_or_costs_more_than_it_saves(kernel):
    operator = plain(kernel)
    assert keeping_matrices(operator) is operator


def test_nothing_is_kept_that_memory_does_not_hold(monkeypatch):
    monkeypatch.setattr(module, "MAX_BYTES", 8 * 3 * N**2 - 1)
    assert not isinstance(keeping_matrices(plain()), GroupMatrices)
