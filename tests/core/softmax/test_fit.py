import numpy as np
import pytest
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning

from core.classes import ClassTree
from core.softmax import CrossValidation, Curvature, JointKernel, Prior, SoftmaxRegression, Subspace, Targets, fit
from tests.core.softmax.problems import KINDS, TREES, N, dense, operator, prior
from tests.reference import softmax as reference


def columns(v):
    """n x C as one problem."""
    return v[:, None, :]


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("kind", KINDS)
def test_products_are_those_of_the_dense_matrix(kind, tree, own):
    op, _, _ = operator(kind)
    parameters = prior(TREES[tree], op.kernel, own=own, noise=0.3)
    joint, K = JointKernel(op, parameters), dense(op, parameters)
    v = np.random.default_rng(1).normal(size=(N, 2, 3))
    for q in range(2):
        assert np.allclose(joint.product(v)[:, q].ravel(), K @ v[:, q].ravel())
    assert np.allclose(joint.diagonal.ravel(), np.diag(K))
    blocks = [K[3 * i : 3 * i + 3, 3 * i : 3 * i + 3] @ v[i, 0] for i in range(N)]
    assert np.allclose(joint.own_product(v)[:, 0], blocks)
    query = op.training_rows(np.arange(4))
    without_noise = (K @ v[:, 0].ravel()).reshape(N, 3) - 0.3 * v[:, 0]
    assert np.allclose(joint.predictor(v[:, 0])(query), without_noise[:4])


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("kind", ["hik", "stored", "sparse"])
def test_a_fit_is_the_dense_minimum(kind, tree, own):
    op, _, y = operator(kind)
    parameters = prior(TREES[tree], op.kernel, own=own, noise=0.1)
    model = SoftmaxRegression(op, y, parameters, tolerance=1e-10)
    K, targets = dense(op, parameters), np.eye(3)[y]
    expected = reference.fit(K, targets)
    assert model.solution.converged
    assert np.allclose(model.weights, expected, atol=1e-8)
    assert np.allclose(model.solution.latents[:, 0].ravel(), K @ expected.ravel(), atol=1e-7)
    assert model.objective() == pytest.approx(reference.objective(K, targets, expected), rel=1e-9)
    assert np.allclose(model.probabilities(op.training_rows(np.arange(N))).sum(axis=1), 1.0)


def rows_that_count():
    """Nothing, less than one, one, and more."""
    return np.array([0.0, 0.3, 1.0, 2.5])[np.arange(N) % 4]


@pytest.mark.parametrize("tree", TREES)
def test_rows_count_as_the_dense_model_has_it(tree):
    op, _, y = operator("stored")
    parameters, counts = prior(TREES[tree], op.kernel, noise=0.1), rows_that_count()
    model = SoftmaxRegression(op, y, parameters, counts=counts, tolerance=1e-10)
    K, targets = dense(op, parameters), np.eye(3)[y]
    expected = reference.fit(K, targets, counts)
    assert np.allclose(model.weights, expected, atol=1e-8)
    assert not model.weights[counts == 0.0].any()
    assert model.objective() == pytest.approx(reference.objective(K, targets, expected, counts), rel=1e-9)
    for move in np.random.default_rng(0).normal(size=(5, N, 3)) * 1e-6:
        upper, lower = (reference.objective(K, targets, model.weights + sign * move, counts) for sign in (1, -1))
        assert abs(upper - lower) / 2e-6 < 1e-4


def test_a_row_that_counts_twice_is_there_twice():
    op, _, y = operator("hik")
    parameters = prior(TREES["flat"], op.kernel)
    counts = 1.0 + (np.arange(N) < 5)
    twice = np.append(np.arange(N), np.arange(5))
    query = op.training_rows(np.arange(N))
    found = SoftmaxRegression(op, y, parameters, counts=counts, tolerance=1e-10).latents(query)
    expected = SoftmaxRegression(op.only(twice), y[twice], parameters, tolerance=1e-10).latents(query)
    assert np.allclose(found, expected, atol=1e-7)


@pytest.mark.parametrize("recycled", [False, True])
@pytest.mark.parametrize("tree", TREES)
def test_newton_systems_are_solved(tree, recycled):
    op, _, _ = operator("hik")
    parameters, counts = prior(TREES[tree], op.kernel), rows_that_count()
    K, joint = dense(op, parameters), JointKernel(op, parameters)
    rng = np.random.default_rng(0)
    pi = softmax(rng.normal(size=(N, 3)), axis=1)
    h = rng.normal(size=(N, 3))
    past = Subspace(N, 3)
    if recycled:  # from a system with other probabilities
        before = Curvature(joint, columns(softmax(rng.normal(size=(N, 3)), axis=1)), counts[:, None])
        before.solve(columns(rng.normal(size=(N, 3))), np.array([1e-11]), past=past)
        assert len(past) > 3
    s, ks = Curvature(joint, columns(pi), counts[:, None]).solve(columns(h), np.array([1e-11]), past=past)
    expected = np.linalg.solve(np.eye(3 * N) + reference.hessian(pi, counts) @ K, h.ravel())
    assert np.allclose(s.ravel(), expected, atol=1e-8)
    assert np.allclose(ks.ravel(), K @ expected, atol=1e-7)
    if tree == "flat":  # linear in C, for small n
        expected = np.linalg.solve(np.eye(3 * N) + reference.hessian(pi) @ K, h.ravel())
        single = parameters.variances[:, None, None] * op.cross(op.training_rows(np.arange(N))) + parameters.intercept
        assert np.allclose(reference.solve_by_classes(single, pi, h).ravel(), expected, atol=1e-8)


def test_every_truncated_solution_goes_down():
    op, _, y = operator("hik")
    joint = JointKernel(op, prior(TREES["tree"], op.kernel, variance=1e3))
    pi = softmax(np.random.default_rng(0).normal(size=(N, 1, 3)) * 4, axis=2)
    gradient = pi - columns(np.eye(3)[y])
    for rounds in range(6):
        s, ks = Curvature(joint, pi, np.ones((N, 1))).solve(gradient, np.zeros(1), rounds)
        assert np.vdot(gradient, ks) > 0.0
        assert np.allclose(ks, joint.product(s))


def test_tiny_probabilities_and_outliers():
    """Variances so large that probabilities underflow, and a row with the wrong label from a far start."""
    op, _, y = operator("stored")
    parameters = prior(TREES["flat"], op.kernel, variance=1e4)
    targets = Targets.of(y, parameters.tree)
    joint = JointKernel(op, parameters)
    start = np.zeros((N, 1, 3))
    start[:, 0, :] = np.where(np.eye(3)[(y + 1) % 3] > 0, 20.0, -10.0)  # sure of the wrong class
    assert softmax(joint.product(start), axis=2).min() < 1e-300
    found = fit(joint, targets, weights=start, tolerance=1e-9)
    assert found.converged
    assert np.allclose(found.weights, fit(joint, targets, tolerance=1e-9).weights, atol=1e-6)


def test_problems_side_by_side_are_those_alone():
    op, _, y = operator("hik")
    parameters = prior(TREES["tree"], op.kernel)
    held = np.arange(N)[:, None] % 3 != np.arange(3)
    found = fit(JointKernel(op, parameters), Targets.of(y, parameters.tree), held.astype(float), tolerance=1e-10)
    for k in range(3):
        rows = np.flatnonzero(held[:, k])
        alone = SoftmaxRegression(op.only(rows), y[rows], parameters, tolerance=1e-10)
        assert np.allclose(found.weights[rows, k], alone.weights, atol=1e-8)
        assert not found.weights[~held[:, k], k].any()
        assert np.allclose(found.latents[:, k], alone.latents(op.training_rows(np.arange(N))), atol=1e-7)


@pytest.mark.parametrize("tree", TREES)
def test_steps_without_systems_lead_to_the_same_minimum(tree):
    op, _, y = operator("stored")
    parameters, counts = prior(TREES[tree], op.kernel, noise=0.1), rows_that_count()[:, None]
    joint, targets = JointKernel(op, parameters), Targets.of(y, parameters.tree)
    expected = fit(joint, targets, counts, tolerance=1e-10).weights
    rough, found = (fit(joint, targets, counts, newton=False, tolerance=tolerance) for tolerance in (1e-4, 1e-10))
    assert rough.products == rough.steps
    assert np.allclose(rough.weights, expected, atol=0.01)
    assert found.converged
    assert np.allclose(found.weights, expected, atol=1e-8)


def test_single_precision_is_enough_for_a_search():
    op, x, y = operator("stored")
    parameters = prior(TREES["flat"], op.kernel, own=True)
    single = op.__class__(x, op.kernel, single=True)
    v = np.random.default_rng(0).normal(size=(N, 2))
    for half in (single, single.with_kernel(op.kernel), single.only(np.arange(N))):
        assert half.matrix.dtype == np.float32
        assert half.product(v).dtype == np.float64
        assert np.allclose(half.product(v), op.product(v), atol=1e-4)
    few = single.only(np.arange(N - 2))
    few.product(v[:-2])
    few.append(x[-2:])
    assert np.array_equal(few.matrix, single.matrix)
    found, exact = (CrossValidation(one, y, parameters)(parameters) for one in (single, op))
    assert found[0] == pytest.approx(exact[0], rel=1e-5)
    assert np.allclose(found[1].variances, exact[1].variances, rtol=1e-2, atol=1e-6)


def test_an_offset_is_what_others_contribute():
    op, _, y = operator("stored")
    parameters = prior(TREES["flat"], op.kernel)
    joint, targets = JointKernel(op, parameters), Targets.of(y, parameters.tree)
    offset = np.random.default_rng(0).normal(size=(N, 1, 3))
    found = fit(joint, targets, offset=offset, tolerance=1e-10)
    residual = softmax(joint.product(found.weights) + offset, axis=2) - columns(np.eye(3)[y]) + found.weights
    assert np.abs(residual).max() < 1e-8


def test_too_few_steps_are_told():
    op, _, y = operator("stored")
    parameters = Prior.shared(TREES["flat"], op.kernel, 100.0)
    found = fit(JointKernel(op, parameters), Targets.of(y, TREES["flat"]), max_steps=1)
    assert not found.converged
    assert found.steps == 1
    with pytest.warns(ConvergenceWarning, match=r"after 100 steps at a relative gradient of .*, not 1e-200"):
        SoftmaxRegression(op, y, parameters, tolerance=1e-200)


@pytest.mark.parametrize("kind", ["hik", "stored"])
def test_many_labels_at_inner_nodes_do_not_make_it_creep(kind):
    """EM alone would not be there after a hundred steps."""
    op, _, y = operator(kind)
    tree = ClassTree(np.array([3, 3, -1, -1]))
    labels = np.where((y < 2) & (np.arange(N) % 3 > 0), 3, y)
    found = fit(JointKernel(op, Prior.shared(tree, op.kernel, 30.0)), Targets.of(labels, tree))
    assert found.converged
    assert found.steps < 60


def test_a_draft_of_a_subspace_costs_nothing_and_changes_nothing():
    rng = np.random.default_rng(0)
    past = Subspace(5, 2)
    for _ in range(4):
        past.keep(rng.normal(size=(5, 2)), rng.normal(size=(5, 2)), 1.0)
    p, kp = past.p.copy(), past.kp.copy()
    twin = past.draft()
    assert np.shares_memory(twin.p, past.p)
    twin.keep(np.ones((5, 2)), np.ones((5, 2)), 1.0)
    twin.grow(np.ones((5, 1, 2)))
    twin.mix(np.ones((5, 2)))
    twin.shrink(np.array([0]), lambda part: np.zeros((6, 2)))
    assert np.array_equal(past.p, p)
    assert np.array_equal(past.kp, kp)
