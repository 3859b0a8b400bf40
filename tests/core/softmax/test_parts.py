import numpy as np
import pytest

from core.kernels import LinearKernel
from core.linalg import LinearOperator
from core.softmax import ClassTree, Prior, TreeScores
from tests.core.softmax.problems import D, N, operator

KINDS = ("stored", "linear", "sparse")


@pytest.mark.parametrize("kind", KINDS)
def test_operators_follow_their_rows(kind):
    op, x, _ = operator(kind)
    K = op.kernel.cross(x, x)
    v = np.random.default_rng(0).normal(size=(N, 2))
    assert np.allclose(op.product(v), K @ v)
    draft = op.draft()
    draft.append(draft.own(np.array([3, 1])))
    rows = np.append(np.arange(N), [3, 1])
    w = np.random.default_rng(1).normal(size=(N + 2, 2))
    assert np.allclose(draft.product(w), K[np.ix_(rows, rows)] @ w)
    draft.remove(np.array([0]))
    assert np.allclose(draft.product(w[1:]), K[np.ix_(rows[1:], rows[1:])] @ w[1:])
    assert np.allclose(op.product(v), K @ v)  # what its draft went through does not show
    some = np.array([5, 2, 7])
    assert np.allclose(op.only(some).product(v[:3]), K[np.ix_(some, some)] @ v[:3])
    assert np.allclose(op.cross(op.own(some), 4), K[4:, some])
    assert np.allclose(op.diagonal(op.own(some)), np.diag(K)[some])
    beta = np.random.default_rng(2).normal(size=(N, 3))
    assert np.allclose(op.difference(op.own(some), beta)(op.own(np.arange(N))), K[:, some] - K @ beta)


def test_a_row_that_overflows_is_named():
    op = LinearOperator(np.ones((2, D)), LinearKernel(np.ones(1), np.zeros(D, dtype=np.int64), 0.0))
    with pytest.raises(ValueError, match="row 1"):
        op.check(np.array([np.ones(D), np.full(D, 1e200)]))


def test_scores_in_a_tree():
    tree = ClassTree(np.array([3, 3, -1, -1]))
    p = np.array([[0.7, 0.2, 0.1], [0.31, 0.31, 0.38], [0.1, 0.1, 0.8]])
    found = TreeScores.of(tree, p, np.array([0, 1, 0]))
    assert found.accuracy == pytest.approx(1 / 3)
    assert found.parent_accuracy == pytest.approx(2 / 3)
    assert found.taxo_loss == pytest.approx((0 + 1 + 1.5) / 3)
    assert found.precision == pytest.approx((1 + 1 / 2.5 + 1 / 2.5) / 3)


def test_a_new_node_takes_after_the_others():
    op, _, _ = operator("stored")
    prior = Prior.per_node(ClassTree.flat(2), (op.kernel, op.kernel), 4.0)
    grown = prior.with_tree(ClassTree.flat(3), np.array([0, 2]))
    assert grown.variances == pytest.approx(4.0)
    assert grown.kernel_of.tolist() == [0, 0, 1]
