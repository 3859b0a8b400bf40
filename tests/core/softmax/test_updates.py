import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from core.classes import ClassTree
from core.histograms import raw_rows
from core.kernels import RBFKernel
from core.linalg import StoredOperator, Units
from core.softmax import JointKernel, Prior, SoftmaxClasses, SoftmaxRegression, Targets, fit
from core.softmax.subspace import Subspace
from tests.core.data import size
from tests.core.softmax.problems import TREES, N, operator, prior

TOLERANCE = 1e-10


def model(kind="hik", tree="tree", n=N):
    op, x, y = operator(kind, n)
    return SoftmaxRegression(op, y, prior(TREES[tree], op.kernel), tolerance=TOLERANCE), x, y


def assert_same_as_fresh(changed):
    rows = np.arange(len(changed.labels))
    fresh = SoftmaxRegression(
        changed.operator.only(rows), changed.labels, changed.prior, counts=changed.counts, tolerance=TOLERANCE
    )
    assert np.allclose(changed.weights, fresh.weights, atol=1e-7)
    query = changed.operator.training_rows(rows[:5])
    assert np.allclose(changed.latents(query), fresh.latents(query), atol=1e-6)


def as_query(kind, x):
    return raw_rows(x) if kind == "hik" else x


@pytest.mark.parametrize("kind", ["hik", "rbf", "stored", "linear"])
def test_rows_come_and_go(kind):
    found, _, _ = model(kind)
    _, x, y = operator(kind, seed=5)
    before = found.latents(found.operator.training_rows(np.arange(4)))
    predictor = found.predictor
    found.add(as_query(kind, x[:3]), y[:3])
    assert_same_as_fresh(found)
    found.remove(np.array([0, 7]))
    assert_same_as_fresh(found)
    found.relabel((found.labels + 1) % 3)
    assert_same_as_fresh(found)
    kept, _, _ = model(kind)
    assert np.allclose(predictor(kept.operator.training_rows(np.arange(4))), before)  # what was published stays


def assert_products_are_known(changed):
    assert len(changed._past)
    p, kp = changed._past.by_row()
    assert np.allclose(changed._joint.product(p.transpose(1, 0, 2)).transpose(1, 0, 2), kp, atol=1e-9)
    assert np.allclose(changed._joint.product(changed.solution.weights), changed.solution.latents, atol=1e-7)


@pytest.mark.parametrize("kind", ["hik", "stored"])
@pytest.mark.parametrize("tree", TREES)
def test_what_was_learnt_of_the_kernel_follows_every_change(kind, tree):
    op, _, y = operator(kind)
    found = SoftmaxRegression(op, y, prior(TREES[tree], op.kernel, own=tree == "flat", noise=0.2), tolerance=TOLERANCE)
    _, x, y = operator(kind, seed=5)
    found.add(as_query(kind, x[:2]), y[:2])
    assert_products_are_known(found)
    found.remove(np.array([3, 8]))
    assert_products_are_known(found)
    found.relabel(np.where(np.arange(N) == 4, (found.labels + 1) % 3, found.labels))
    assert_products_are_known(found)
    if tree == "flat":
        found.add(as_query(kind, x[5:6]), np.array([1]), np.array([0, 2, 3]), ClassTree.flat(4))
        assert_products_are_known(found)
        assert found._past.shape == (N + 1, 4)
    assert_same_as_fresh(found)


def test_a_label_more_costs_less_than_a_fit():
    op, x, y = operator("stored")
    parameters = prior(TREES["flat"], op.kernel)
    cold = SoftmaxRegression(op.only(np.arange(N)), y, parameters)
    warm = SoftmaxRegression(op.only(np.arange(N - 1)), y[:-1], parameters)
    warm.add(x[-1:], y[-1:])
    in_the_end = 1  # what kept directions gave is checked by a product computed anew
    assert warm.solution.products - in_the_end < cold.solution.products / 2


def test_counts_change_and_grow():
    found, x, y = model()
    counts = np.where(np.arange(N) == 2, 0.4, 1.0)
    found.relabel(found.labels, counts=counts)
    assert_same_as_fresh(found)
    found.add(raw_rows(x[:2]), y[:2], counts=np.array([0.1, 3.0]))
    assert found.counts[-2:].tolist() == [0.1, 3.0]
    assert_same_as_fresh(found)


def test_many_rows_at_once():
    found, _, _ = model()
    _, x, y = operator("hik", seed=5)
    many = np.arange(40) % N
    found.add(raw_rows(x[many]), y[many])
    assert_same_as_fresh(found)
    found.remove(np.arange(N, N + 40))
    assert_same_as_fresh(found)


def test_what_is_solved_is_not_solved_again():
    found, _, _ = model()
    assert found.solution.products > 1
    found.relabel(found.labels)
    assert (found.solution.products, found.solution.steps) == (0, 0)


def test_a_new_class_and_a_class_that_becomes_a_node():
    found, x, _ = model(tree="flat")
    tree = ClassTree.flat(4)
    found.add(raw_rows(x[:2]), np.array([3, 3]), np.arange(3), tree)
    assert found.n_classes == 4
    assert_same_as_fresh(found)
    # Class 3 is split into two kinds; its labels now mean either.
    tree = ClassTree(np.array([-1, -1, -1, 5, 5, -1]))
    found.relabel(np.where(found.labels == 3, 5, found.labels), np.array([0, 1, 2, 5]), tree)
    assert found.n_classes == 5
    assert np.allclose(
        found.solution.latents[:, 0, 3], found.solution.latents[:, 0, 4], atol=1e-6
    )  # nothing tells them apart


def test_directions_move_with_their_classes():
    """A class that is new has nothing in them, and the products stay those of the kernel."""
    past = Subspace(5, 3)
    rng = np.random.default_rng(0)
    for _ in range(4):
        past.keep(rng.normal(size=(5, 3)), rng.normal(size=(5, 3)), 1.0)
    p, kp = (pairs.copy() for pairs in past.by_row())
    past.renumber(np.array([3, 0, 1]), 5)
    assert past.shape == (5, 5)
    for before, after in zip((p, kp), past.by_row(), strict=True):
        assert np.array_equal(after[:, :, [3, 0, 1]], before)
        assert not after[:, :, [2, 4]].any()


def test_classes_may_change_places():
    found, _, _ = model()
    swapped = np.array([1, 0, 2, 3, 4])
    found.relabel(swapped[found.labels], swapped, TREES["tree"])
    assert_same_as_fresh(found)


def test_another_prior():
    found, _, _ = model()
    found.reset(prior(TREES["tree"], found.operator.kernel, variance=2.0))
    assert_same_as_fresh(found)


def test_what_fails_changes_nothing(monkeypatch):
    found, x, y = model()
    weights, labels = found.weights, found.labels

    def broken(self, start, latents=None):
        raise MemoryError("none left")

    monkeypatch.setattr(SoftmaxRegression, "_fit", broken)
    for change in (
        lambda: found.add(raw_rows(x[:1] * 0.77), y[:1]),
        lambda: found.remove(np.array([0])),
        lambda: found.relabel((labels + 1) % 3),
    ):
        with pytest.raises(MemoryError):
            change()
    assert len(found.operator) == N
    assert np.array_equal(found.labels, labels)
    assert np.array_equal(found.weights, weights)
    assert np.allclose(found.latents(found.operator.training_rows(np.arange(N))), found.solution.latents[:, 0])


def test_labels_at_inner_nodes_by_em():
    op, _, y = operator("hik")
    tree = TREES["tree"]
    labels = np.where(np.arange(N) % 3 == 0, tree.parents[y], y)  # a third of the rows say no more than the node
    labels[1] = 4  # anything at all
    parameters = prior(tree, op.kernel)
    found = SoftmaxRegression(op, labels, parameters, tolerance=1e-9)
    assert found.solution.converged
    # A fixed point: the gradient of the likelihood of the labels themselves vanishes.
    pi = np.exp(found.solution.latents[:, 0] - np.logaddexp.reduce(found.solution.latents[:, 0], axis=1)[:, None])
    q = Targets.of(labels, tree).expected(pi[:, None])[:, 0]
    assert np.abs(pi - q + found.weights).max() < 1e-6
    assert np.allclose(q[labels < 3], np.eye(3)[labels[labels < 3]])
    assert np.allclose(q[labels == 3][:, 2], 0.0)
    # And no point near it is better.
    rng = np.random.default_rng(0)
    K = found._joint.product
    for _ in range(20):
        a = found.solution.weights + 0.01 * rng.normal(size=(N, 1, 3))
        u = K(a)
        assert Targets.of(labels, tree).losses(u).sum() + np.vdot(a, u) / 2 > found.objective()


def test_the_likelihood_never_falls_in_em():
    op, _, y = operator("hik")
    tree = TREES["tree"]
    labels = np.where(np.arange(N) % 2 == 0, tree.parents[y], y)
    values = []
    for steps in range(8):
        found = fit(JointKernel(op, prior(tree, op.kernel)), Targets.of(labels, tree), max_steps=steps)
        losses = Targets.of(labels, tree).losses(found.latents).sum()
        values.append(losses + np.vdot(found.weights, found.latents) / 2)
    assert (np.diff(values) <= 1e-9).all()


def test_expected_losses_by_brute_force():
    tree = ClassTree(np.array([5, 5, 6, 6, -1, 7, 7, -1]))  # depths 3, 3, 3, 3, 1
    n = tree.n_classes
    every = np.arange(n)
    distance = np.array([tree.distance(np.full(n, c), every) for c in every])
    assert distance[0].tolist() == [0.0, 1.0, 2.0, 2.0, 2.0]
    assert distance[4].tolist() == [2.0, 2.0, 2.0, 2.0, 0.0]
    p = np.random.default_rng(0).dirichlet(np.full(n, 0.5), size=50)
    assert np.array_equal(tree.decide(p, "tree"), (p @ distance).argmin(axis=1))
    assert np.array_equal(tree.decide(p), p.argmax(axis=1))
    wrong_parent = tree.parents[:n, None] != tree.parents[:n]
    chosen = tree.decide(p, "parent")
    loss = p @ wrong_parent
    assert np.allclose(loss[np.arange(50), chosen], loss.min(axis=1))
    assert np.allclose(tree.to_nodes(p)[:, 7], p[:, :4].sum(axis=1))
    assert tree.branch.tolist() == [7, 7, 7, 7, 4, 7, 7, 7]


def test_classes_may_change_places_while_rows_come():
    op, _, y = operator("hik")
    shared = Prior.shared(ClassTree.flat(3), op.kernel, 6.0, 0.5)
    model = SoftmaxRegression(op, y, shared)
    before, places = model.weights, np.array([2, 0, 1])
    model.relabel(places[y], places, ClassTree.flat(3))
    fresh = SoftmaxRegression(op, places[y], shared)
    assert np.allclose(model.weights, fresh.weights, atol=1e-6)
    assert np.allclose(model.weights[:, places], before, atol=1e-6)
    more = op.training_rows(np.arange(2))
    model.add(more, np.array([0, 1]), np.array([1, 2, 0]), ClassTree.flat(3))
    assert model.labels.tolist() == [*y.tolist(), 0, 1]


def test_a_search_tells_how_often_it_looked_and_what_it_ended_at():
    op, _, y = operator("hik", 40)
    classes = SoftmaxClasses(op, y, ClassTree.flat(3), noise=1.0)
    steps = []
    given = op.kernel, 1.0
    first = classes.search(settings=given, most=2.0, on_step=lambda: steps.append(1))
    assert first.evaluations == len(steps)
    (at,) = [one for one in first.at_bounds if one.parameter == "variance"]
    assert at.upper
    assert at.value == pytest.approx(first.prior.variances[0])


def test_a_search_begins_where_the_last_one_ended():
    op, _, y = operator("hik")
    classes = SoftmaxClasses(op, y, ClassTree.flat(3), noise=1.0)
    units, given = Units.of([op]), (op.kernel, 1.0)
    assert len(classes._starts(units, given)) == 1
    classes.reset(replace(classes.prior, variances=9.0 * classes.prior.variances))
    last, origin = classes._starts(units, given)
    assert np.allclose(origin.variances * 9.0 * units.size(op.kernel), last.variances)
    true = units.true(last.kernels[0])
    row = op.training_rows(np.arange(1))
    expected = classes.prior.variances[0] * op.with_kernel(classes.prior.kernels[0]).diagonal(row)
    assert np.allclose(last.variances[0] * op.with_kernel(true).diagonal(row), expected)


def test_rounding_errors_of_kept_directions_do_not_grow():
    """Hundreds of labels whose functions are nearly constant: small differences of large directions."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(size(240, 60), 10))
    y = (np.abs(x[:, 0]) < 0.7).astype(int)
    kernel = RBFKernel(np.ones(1), np.zeros(10, dtype=int), 0.0, 0.05)
    found = SoftmaxRegression(
        StoredOperator(x[:20], kernel), y[:20], Prior.shared(ClassTree.flat(2), kernel, 14.0, 900.0), tolerance=1e-8
    )
    for row in range(20, len(x)):
        with warnings.catch_warnings():
            warnings.simplefilter("error", ConvergenceWarning)
            found.add(x[row : row + 1], y[row : row + 1])
        p, kp = found._past.by_row()
        exact = found._joint.product(p.transpose(1, 0, 2)).transpose(1, 0, 2)
        assert np.linalg.norm(exact - kp) < 1e-7 * np.linalg.norm(kp)
    assert_same_as_fresh(found)
