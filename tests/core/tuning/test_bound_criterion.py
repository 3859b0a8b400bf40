import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.histograms import Histograms
from core.kernels import IntersectionKernel
from core.linalg import HistogramOperator, largest_eigenpairs
from core.tuning import BoundCriterion, DualCriterion, bound_criterion
from core.tuning.bound_criterion import log_determinant_bound
from tests.core.data import size, word_counts
from tests.reference.dense import targets


@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=30), st.integers(1, 30))
def test_it_is_above_the_log_determinant_whatever_is_known_of_the_squares(eigenvalues, known):
    eigenvalues = np.sort(eigenvalues)[::-1]
    n, trace = len(eigenvalues), eigenvalues.sum()
    exact = np.log(eigenvalues).sum()
    full = log_determinant_bound(eigenvalues[0], trace, (eigenvalues**2).sum(), n)
    part = log_determinant_bound(eigenvalues[0], trace, (eigenvalues[:known] ** 2).sum(), n)
    assert exact <= full + 1e-8 * (1 + abs(exact))
    assert full <= part + 1e-8 * (1 + abs(exact))


@given(st.integers(2, 50), st.floats(0.01, 10.0), st.floats(0.1, 100.0))
def test_it_is_tight_for_a_regularised_matrix_of_rank_one(n, ridge, size):
    values = np.full(n, ridge)
    values[0] += size
    bound = log_determinant_bound(values[0], values.sum(), (values**2).sum(), n)
    assert bound == pytest.approx(np.log(values).sum(), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("noise", [0.01, 0.1, 1.0])
@pytest.mark.parametrize("eta", [0.3, 1.0, 3.0])
def test_the_bound_of_the_evidence_is_above_it(noise, eta):
    x, y = word_counts(size(150, 20), 12, 3)
    kernel = IntersectionKernel(np.ones(1), np.zeros(12, dtype=int), 0.5, "power", eta)
    operator = HistogramOperator(Histograms.of(x), kernel)
    shape = np.linspace(0.8, 1.2, len(x))
    bound = BoundCriterion(operator, targets(y, 3), shape)
    exact = DualCriterion(operator, targets(y, 3), shape, "evidence")(kernel, noise).value
    for _ in range(2):  # cold, and from the last weights
        assert bound(kernel, noise).value >= exact


@pytest.mark.parametrize("tolerance", [0.5, 1e-4])
def test_it_is_above_the_evidence_where_the_weights_are_far_from_the_solution(tolerance, monkeypatch):
    """With noise that differs from row to row."""
    monkeypatch.setattr(bound_criterion, "TOLERANCE", tolerance)
    monkeypatch.setattr(bound_criterion, "CoarsePreconditioner", lambda *_: lambda r: r)
    x, y = word_counts(30, 12, 3)
    kernel = IntersectionKernel(np.ones(1), np.zeros(12, dtype=int), 0.5)
    operator, shape = HistogramOperator(Histograms.of(x), kernel), np.geomspace(0.2, 50.0, len(x))
    found = BoundCriterion(operator, targets(y, 3), shape)(kernel, 0.3)
    exact = DualCriterion(operator, targets(y, 3), shape, "evidence")(kernel, 0.3)
    assert found.value >= exact.value
    assert found.amplitude >= exact.amplitude
    if tolerance < 0.1:
        assert found.amplitude == pytest.approx(exact.amplitude, rel=1e-3)


def test_an_eigenvalue_that_is_a_little_too_small_leaves_a_bound(monkeypatch):
    """Lanczos comes from below, and equal rows leave nothing to spare: their matrix has two different eigenvalues."""

    def from_below(*problem):
        values, vectors = largest_eigenpairs(*problem)
        return values * (1.0 - 1e-7), vectors

    monkeypatch.setattr(bound_criterion, "largest_eigenpairs", from_below)
    x, y = np.full((3, 4), 0.5), np.arange(3)
    kernel = IntersectionKernel(np.ones(1), np.zeros(4, dtype=int), 0.5)
    operator, shape = HistogramOperator(Histograms.of(x), kernel), np.ones(3)
    found = BoundCriterion(operator, targets(y, 3), shape)(kernel, 0.1).value
    exact = DualCriterion(operator, targets(y, 3), shape, "evidence")(kernel, 0.1).value
    assert exact < found < exact + 1e-4


def test_it_has_no_gradient():
    x, y = word_counts(10, 4, 2)
    kernel = IntersectionKernel(np.ones(1), np.zeros(4, dtype=int), 0.5)
    with pytest.raises(ValueError, match="no gradient"):
        BoundCriterion(HistogramOperator(Histograms.of(x), kernel), targets(y, 2), np.ones(10))(
            kernel, 0.1, gradient=True
        )
