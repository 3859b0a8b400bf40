import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.kernels import IntersectionKernel, LinearKernel, RBFKernel, group_weights
from tests.reference.dense import transformed

GROUPS = np.array([0, 1, 1])


def kernels():
    weights = np.array([2.0, 0.5])
    yield IntersectionKernel(weights, GROUPS, 0.7, transform="exp", eta=1.5)
    yield RBFKernel(weights, GROUPS, 0.7, gamma=0.3)
    yield LinearKernel(weights, GROUPS, 0.7)


@pytest.mark.parametrize("kernel", list(kernels()), ids=lambda kernel: type(kernel).__name__)
def test_parameters_are_a_flat_vector_with_names_and_bounds(kernel):
    assert len(kernel.names) == len(kernel.theta) == len(kernel.bounds)
    assert dict(zip(kernel.names, kernel.theta, strict=True))["weight[1]"] == 0.5
    assert (kernel.bounds[:, 0] < kernel.theta).all()
    assert (kernel.theta < kernel.bounds[:, 1]).all()
    other = kernel.with_theta(kernel.theta * 2)
    assert type(other) is type(kernel)
    assert np.array_equal(other.theta, kernel.theta * 2)
    assert other.names == kernel.names
    assert np.array_equal(kernel.dim_weights, [2.0, 0.5, 0.5])  # the first one has not changed


@given(st.sampled_from([None, "power", "exp"]), st.floats(0.05, 20.0), st.floats(1e-6, 1.0))
def test_transforms(transform, eta, value):
    kernel = IntersectionKernel(np.array([3.0]), np.zeros(1, dtype=int), 0.25, transform, eta)
    u = kernel.apply(np.array([value, 1.0]), np.array([0, 1]))
    assert u[0] == pytest.approx(3.0 * transformed(np.array(value), transform, eta), rel=1e-9)
    assert u[1] == pytest.approx(0.25)  # the constant dimension: its weight is the bias


def test_large_eta_does_not_overflow_on_values_up_to_one():
    kernel = IntersectionKernel(np.ones(1), np.zeros(1, dtype=int), 0.0, "exp", 1e4)
    assert kernel.apply(np.array([0.5, 1.0]), np.array([0, 0])).tolist() == [0.0, 1.0]


def test_what_is_not_finite_is_an_error_that_says_what_to_do():
    kernel = IntersectionKernel(np.ones(1), np.zeros(1, dtype=int), 0.0, "power", 3.0)
    with pytest.raises(ValueError, match=r"1e\+150 in column 0 is not finite with transform='power' and eta=3: scale"):
        kernel.apply(np.array([1e150]), np.array([0]))


def test_dense_kernels_against_their_formulas():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(5, 3)), rng.normal(size=(4, 3))
    weights = np.array([2.0, 0.5, 0.5])
    _, rbf, linear = kernels()
    distances = (weights * (a[:, None] - b) ** 2).sum(axis=2)
    assert np.allclose(rbf.cross(a, b), 0.7 + np.exp(-0.3 * distances))
    assert np.allclose(linear.cross(a, b), 0.7 + (a * weights) @ b.T)
    for kernel in (rbf, linear):
        assert np.allclose(kernel.diagonal(a), np.diag(kernel.cross(a, a)))


@pytest.mark.parametrize(
    ("weights", "groups", "message"),
    [
        ([1.0, 2.0], None, "weights must hold 3"),
        ([1.0, -2.0, 0.0], None, "of at least 0"),
        ([1.0, np.nan, 0.0], None, "finite"),
        (None, [0, 1], "each of the 3 columns"),
        (None, [0, 0.5, 1], "each of the 3 columns"),
        ([1.0], [0, 1, 1], "weights must hold 2"),
    ],
)
def test_bad_weights(weights, groups, message):
    with pytest.raises(ValueError, match=message):
        group_weights(weights, groups, 3)


@pytest.mark.parametrize("kernel", list(kernels()), ids=lambda kernel: type(kernel).__name__)
def test_a_multiple_of_a_kernel(kernel):
    scaled = kernel.scaled(3.0)
    if isinstance(kernel, IntersectionKernel):
        values, dims = np.array([0.2, 0.7, 0.4, 1.0]), np.arange(4)
        assert np.allclose(scaled.apply(values, dims), 3.0 * kernel.apply(values, dims))
    else:
        x = np.random.default_rng(0).random((5, 3))
        assert np.allclose(scaled.cross(x, x), 3.0 * kernel.cross(x, x))


@pytest.mark.parametrize("offset", [1e7, 1e8])
def test_the_gradient_of_the_rbf_kernel_does_not_depend_on_where_the_rows_are(offset):
    rng = np.random.default_rng(0)
    far = offset + rng.normal(size=(12, 3))
    near, gradient = far - offset, rng.normal(size=(12, 12))
    kernel = RBFKernel(np.array([2.0, 0.5]), GROUPS, 0.7, gamma=0.3)
    assert kernel.pull_back(far, gradient) == pytest.approx(kernel.pull_back(near, gradient), rel=1e-6)
