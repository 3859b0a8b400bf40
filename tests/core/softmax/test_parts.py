import numpy as np
import pytest

from core.classes import ClassTree
from core.experiments.tree_scores import TreeScores
from core.softmax import Prior
from tests.core.softmax.problems import operator


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
