import tracemalloc

import numpy as np
import pytest
from hypothesis import given

from core import _parallel
from core.histograms import Histograms
from core.kernels import IntersectionKernel
from core.linalg import CoarsePreconditioner, HistogramOperator, LevelSystem
from core.linalg.level_system import REFRESH
from tests.core.data import continuous, size
from tests.reference.dense import features as dense_features
from tests.strategies import histograms


def operator_of(x, rule=None):
    kernel = IntersectionKernel(np.linspace(0.5, 2.0, x.shape[1]), np.arange(x.shape[1]), 0.4)
    return HistogramOperator(Histograms.of(x, rule), kernel)


def code_lists(features):
    return [features.codes[a:b] for a, b in zip(features.starts[:-1], features.starts[1:], strict=True)]


@given(histograms())
def test_phi(x):
    operator = operator_of(x)
    features = operator.features()
    held, phi = dense_features(code_lists(features), features.start, features.u)
    rng = np.random.default_rng(0)
    v, w, weights = rng.normal(size=(len(x), 2)), rng.normal(size=(features.size, 2)), rng.random(len(x)) + 0.1
    scale = 1.0 + np.abs(phi).max() ** 2
    assert np.allclose(phi @ phi.T, operator.cross(operator.rows), atol=1e-12 * scale)
    assert np.allclose(features.expand(w), phi @ w, atol=1e-12 * scale)
    assert np.allclose(features.project(v), phi.T @ v, atol=1e-12 * scale)
    counts = features.counts(weights)[: features.size, : features.size]
    assert np.allclose(np.tril(counts), np.tril(held.T @ (weights[:, None] * held)))


def test_counts_are_sums_over_rows():
    x = continuous(size(300, 30), 4, density=0.7)
    features = operator_of(x, 5).features()
    first, second = (np.arange(len(x)) < 11) * 1.0, (np.arange(len(x)) >= 11) * 1.0
    total = features.counts(np.ones(len(x)))
    assert np.allclose(features.counts(first) + features.counts(second), total)


def test_blocks_of_rows_give_the_same_counts(monkeypatch):
    from core.linalg import features as module

    x = continuous(size(400, 40), 3)
    features = operator_of(x, 4).features()
    whole = features.counts(np.ones(len(x)))
    monkeypatch.setattr(module, "COUNT_ROWS", 7)
    assert np.array_equal(features.counts(np.ones(len(x))), whole)


@pytest.mark.parametrize("kept", [3, 1000])
def test_the_preconditioner_is_the_inverse_of_a_coarser_kernel(kept):
    x = continuous(size(80, 25), 4)
    operator, noise = operator_of(x), np.linspace(0.1, 0.2, len(x))
    precondition = CoarsePreconditioner(operator.features(), noise, kept)
    inverse = precondition(np.eye(len(x)))
    assert np.allclose(inverse, inverse.T, atol=1e-9)
    coarse = np.linalg.inv(inverse)
    K = operator.cross(operator.rows) + np.diag(noise)
    assert np.allclose(np.diag(coarse), np.diag(K), rtol=1e-6)
    if kept == 1000:
        assert np.allclose(coarse, K, atol=1e-6)
    else:
        assert (coarse <= K + 1e-6).all()  # values are rounded down


@pytest.mark.parametrize("weight", [1.0, 0.01])
@pytest.mark.parametrize("expected", [1, 1000])
def test_the_level_system_follows_rows_and_levels(expected, weight):
    rng = np.random.default_rng(0)
    held, gaps = (rng.random((6, 4)) < 0.5) * 1.0, np.array([1.0, 0.5, 2.0, 0.25])
    held[:, 1] = np.maximum(held[:, 1], held[:, 0])

    def matrix():
        return np.eye(len(gaps)) + weight * (held * np.sqrt(gaps)).T @ (held * np.sqrt(gaps))

    counts = np.zeros((40, 40), order="F")
    counts[:4, :4] = weight * held.T @ held
    system = LevelSystem(counts, np.sqrt(gaps))
    assert np.allclose(system.solve(np.eye(4)), np.linalg.inv(matrix()))
    system.expect(expected)  # carried along, or dropped and built again
    system.append(3.0)
    held, gaps = np.hstack([held, np.zeros((6, 1))]), np.append(gaps, 3.0)
    system.split(2, 1.5, 0.5)
    held, gaps = np.hstack([held, held[:, 2:3]]), np.append(gaps, 1.5)
    gaps[2] = 0.5
    system.add(np.array([5, 0, 2]), weight)
    held = np.vstack([held, [1, 0, 1, 0, 0, 1]])
    gone = np.flatnonzero(held[1])
    system.add(gone, -weight)
    held = np.delete(held, 1, axis=0)
    assert np.allclose(system.solve(np.eye(6)), np.linalg.inv(matrix()))
    for _ in range(60):
        system.append(1.0)
    assert system.solve(np.ones((66, 1)))[-1, 0] == pytest.approx(1.0)


def test_a_factor_is_made_anew_after_many_changes():
    counts = np.zeros((40, 40), order="F")
    system = LevelSystem(counts, np.ones(8))
    first = system.factor
    for _ in range(REFRESH):
        system.expect(1)
    assert system.factor is first
    system.expect(1)
    assert system.factor is not first
    assert system.factor is system.factor


def test_several_threads_count_what_one_does(monkeypatch):
    features = operator_of(continuous(25, 5, density=0.8)).features()
    weights = np.random.default_rng(0).random(25)
    table = np.random.default_rng(1).normal(size=(features.size, features.size))
    found = []
    for threads in (1, 3):
        monkeypatch.setattr(_parallel, "GRAIN", 1)  # so little work is worth a thread
        monkeypatch.setattr(_parallel, "threads", lambda threads=threads: threads)
        found.append((np.tril(features.counts(weights)), features.quadratics(table + table.T)))
    for one, several in zip(*found, strict=True):
        assert np.allclose(one, several, atol=1e-12)


def random_system(n_rows, size, seed=0):
    held = (np.random.default_rng(seed).random((n_rows, size)) < 0.5) * 1.0
    counts = np.zeros((size + 32, size + 32), order="F")
    counts[:size, :size] = held.T @ held
    return LevelSystem(counts, np.ones(size)), held


def test_rows_that_wait_are_counted_in_time():
    """In a new factor, in features that are split, and when there are many."""
    system, held = random_system(5, 4)
    system.solve(np.eye(4))
    rng = np.random.default_rng(1)
    for i in range(150):
        row = (rng.random(held.shape[1]) < 0.5) * 1.0
        system = system.draft()
        system.add(np.flatnonzero(row), 1.0)
        held = np.vstack([held, row])
        if i % 60 == 30:
            system.split(1, 0.5 * system.root_gap[1] ** 2, 0.5 * system.root_gap[1] ** 2)
            held = np.hstack([held, held[:, 1:2]])
        features = held * system.root_gap
        inverse = np.linalg.inv(np.eye(held.shape[1]) + features.T @ features)
        assert np.allclose(system.solve(np.eye(len(inverse))), inverse)
        fresh = system.draft()
        fresh.expect(1000)
        assert np.allclose(fresh.solve(np.eye(len(inverse))), inverse)


@pytest.mark.jit
def test_a_row_takes_no_memory_for_another_system():
    """Counts and factor are not copied whenever a row comes in a draft."""
    size = 500
    system, _ = random_system(20, size)
    system.solve(np.ones((size, 1)))

    def add(system):
        system = system.draft()
        system.add(np.arange(10), 1.0)
        return system

    for _ in range(2):  # the first change takes the second sheet
        system = add(system)
    tracemalloc.start()
    for _ in range(5):
        system = add(system)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * size**2 / 2
