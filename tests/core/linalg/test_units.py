from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import approx_fprime
from scipy.spatial.distance import pdist

from core.histograms import Histograms
from core.kernels import IntersectionKernel, LinearKernel, NormalisedIntersectionKernel, RBFKernel, SumKernel
from core.linalg import DenseOperator, HistogramOperator, LinearOperator, SumOperator, Units, histogram_operator
from core.tuning import DualCriterion, in_units
from core.tuning.tune import with_prior
from tests.core.data import continuous
from tests.reference.dense import targets

GROUPS = np.array([0, 0, 1])
WEIGHTS = np.array([0.7, 2.5])
X = 30.0 * continuous(12, 3)


def histograms(x=X, **kernel):
    return HistogramOperator(Histograms.of(x), IntersectionKernel(WEIGHTS, GROUPS, 0.4, **kernel))


def normalised(**kernel):
    return histogram_operator(Histograms.of(X), NormalisedIntersectionKernel(WEIGHTS, GROUPS, 0.4, **kernel))


def channels():
    """A sum of an intersection of two columns, a normalised one, an RBF and a linear kernel."""
    one, two, three = np.ones(1), np.zeros(2, dtype=int), np.zeros(3, dtype=int)
    kernels = (
        IntersectionKernel(one, two, 0.0, "power", 0.6),
        NormalisedIntersectionKernel(one, three, 0.0, "power", 0.8),
        RBFKernel(one, two, 0.0, gamma=0.02),
        LinearKernel(one, three, 0.0),
    )
    parts = (
        histogram_operator(Histograms.of(X[:, :2]), kernels[0]),
        histogram_operator(Histograms.of(X), kernels[1]),
        DenseOperator(X[:, 1:], kernels[2]),
        DenseOperator(X - 7.0, kernels[3]),
    )
    return SumOperator(parts, SumKernel(np.array([0.7, 2.5, 0.3, 0.01]), np.arange(4), 0.4, kernels))


OPERATORS = {
    "hik": histograms,
    "power": lambda: histograms(transform="power", eta=0.6),
    "exp": lambda: histograms(transform="exp", eta=1.7, unit=9.0),
    "linear": lambda: DenseOperator(X - 7.0, LinearKernel(WEIGHTS, GROUPS, 0.4)),
    "sparse": lambda: LinearOperator(sp.csr_array(X * (X > 9.0)), LinearKernel(WEIGHTS, GROUPS, 0.4)),
    "rbf": lambda: DenseOperator(X - 7.0, RBFKernel(WEIGHTS, GROUPS, 0.4, gamma=0.02, amplitude=3.0)),
    "normalised": lambda: normalised(transform="power", eta=0.6, amplitude=3.0),
    "sum": channels,
}


def size(operators, kernel):
    """The mean of k(x, x) without bias over the rows of all."""
    own = [op.with_kernel(kernel).diagonal(op.training_rows(np.arange(len(op)))) for op in operators]
    return np.concatenate(own).mean() - kernel.bias


@pytest.mark.parametrize("operator", OPERATORS.values(), ids=OPERATORS)
def test_what_a_search_starts_from_has_a_mean_of_one(operator):
    operators = [operator().only(rows) for rows in (np.arange(4), np.arange(4, 12))]
    units = Units.of(operators)
    start = units.start(operators[0].kernel)
    assert size(operators, units.true(start)) == pytest.approx(1.0)
    assert size(operators, units.true(start.scaled(3.0))) == pytest.approx(3.0)
    assert units.true(start).bias == pytest.approx(start.bias)


@pytest.mark.parametrize("operator", OPERATORS.values(), ids=OPERATORS)
def test_a_kernel_in_units_is_the_true_one_but_for_a_factor(operator):
    kernel, noise = operator().kernel.scaled(5.0), 0.3
    units = Units.of([operator()], operator().kernel)
    plain, plain_noise = units.plain(kernel, noise)
    true = units.true(plain)
    assert size([operator()], true) == pytest.approx(1.0)
    factor = noise / plain_noise
    assert factor == pytest.approx(size([operator()], kernel))
    rows = operator().training_rows(np.arange(12))
    back = operator().with_kernel(true.scaled(factor)).cross(rows)
    assert np.allclose(back, operator().with_kernel(kernel).cross(rows), rtol=1e-12)


@pytest.mark.parametrize("name", ["hik", "power", "linear", "rbf", "normalised", "sum"])
def test_gradients_in_units(name):
    """The criterion's, by what the search moves; a reference of other weights than those in use."""
    operator = OPERATORS[name]()
    kernel = operator.kernel
    units = Units.of([operator], replace(kernel, weights=np.linspace(1.0, 0.5, len(kernel.weights))))
    y = np.arange(12) % 2
    criterion = in_units(DualCriterion(operator, targets(y, 2), np.ones(12), "evidence"), units)
    start = units.plain(kernel, 0.3)[0]
    found = criterion(start, 0.3, gradient=True).by_theta
    expected = approx_fprime(start.theta, lambda theta: criterion(start.with_theta(theta), 0.3).value, 1e-6)
    assert found == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("name", ["loo", "evidence"])
def test_gradients_with_the_prior_of_a_sum(name):
    operator = channels()
    units = Units.of([operator])
    plain = in_units(DualCriterion(operator, targets(np.arange(12) % 2, 2), np.ones(12), name), units)
    criterion = with_prior(plain, name, 24)
    start = units.plain(operator.kernel, 0.3)[0]
    found = criterion(start, 0.3, gradient=True)
    expected = approx_fprime(start.theta, lambda theta: criterion(start.with_theta(theta), 0.3).value, 1e-7)
    assert found.by_theta == pytest.approx(expected, rel=1e-3, abs=1e-4)
    (by_noise,) = approx_fprime([np.log(0.3)], lambda log: criterion(start, float(np.exp(log[0]))).value, 1e-7)
    assert found.by_log_noise == pytest.approx(by_noise, rel=1e-3, abs=1e-5)
    assert found.value > plain(start, 0.3).value


def test_distances_are_between_rows_that_differ():
    x = np.array([[0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [3.0, 1.0], [3.0, 6.0], [0.0, 1.0]])
    kernel = RBFKernel(np.array([1.0, 4.0]), np.array([0, 1]), 1.0)
    found = pdist(x * [1.0, 2.0], "sqeuclidean")
    assert Units.of([DenseOperator(x, kernel)]).distance == pytest.approx(np.median(found[found > 0.0]))
    same = DenseOperator(np.ones((4, 2)), kernel)
    assert Units.of([same]).distance == 1.0
    pair = DenseOperator(x[2:4], kernel)
    assert Units.of([pair, same]).distance == 9.0


def test_gamma_starts_near_the_distances_of_rows():
    units = Units.of([DenseOperator(np.array([[0.0], [2.0]]), RBFKernel(np.ones(1), np.zeros(1, dtype=int), 1.0))])
    kernel = units.reference
    for gamma, start in ((1e-9, 0.1), (0.5, 2.0), (1e9, 10.0)):
        assert units.start(replace(kernel, gamma=gamma, amplitude=7.0)).theta[:2] == pytest.approx([start, 1.0])


def test_the_largest_value_is_the_unit_of_exp_and_of_nothing_else():
    assert Units.of([histograms(transform="exp")]).largest == X.max()
    low = np.flatnonzero(X.max(axis=1) < X.max())
    assert Units.of([histograms(transform="exp").only(low)]).largest == X[low].max()
    assert Units.of([histograms(transform="power")]).largest == 1.0
    assert Units.of([histograms(np.zeros((2, 3)), transform="exp")]).largest == 1.0


def test_rows_without_anything_are_measured_by_one():
    kernel = LinearKernel(WEIGHTS, GROUPS, 0.4)
    units = Units.of([DenseOperator(np.zeros((4, 3)), kernel)])
    assert units.size(kernel) == 1.0
    assert Units.of([histograms(np.zeros((2, 3)))]).size(histograms().kernel) == 1.0
