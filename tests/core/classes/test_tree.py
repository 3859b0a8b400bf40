import numpy as np
import pytest

from core.classes import ClassTree

# Classes 0 to 4; 5 is above 0 and 1, 6 above 2, and 7 above 5.
TREE = ClassTree(np.array([5, 5, 6, -1, -1, 7, -1, -1]))


def above(node):
    return [] if node < 0 else [node, *above(TREE.parents[node])]


def steps(a, b):
    """Half the edges from one class up to where the ways to the root meet, and down to the other."""
    return len(set(above(a)) ^ set(above(b))) / 2


def test_distances_are_half_the_ways_between_classes():
    a, b = (grid.ravel() for grid in np.meshgrid(np.arange(5), np.arange(5)))
    assert TREE.distance(a, b).tolist() == [steps(*pair) for pair in zip(a, b, strict=True)]


def test_decisions_have_the_least_expected_loss():
    p = np.random.default_rng(0).dirichlet(np.full(5, 0.7), 300)
    far = np.array([[steps(a, b) for b in range(5)] for a in range(5)])
    family = TREE.parents[:5]
    assert np.array_equal(TREE.decide(p, "class"), p.argmax(axis=1))
    assert np.array_equal(TREE.decide(p, "tree"), (p @ far).argmin(axis=1))
    of_parent = p @ (family[:, None] == family)  # the probability of each class's parent
    decided = TREE.decide(p, "parent")
    assert np.allclose(of_parent[np.arange(300), decided], of_parent.max(axis=1))
    for row, choice in zip(p, decided, strict=True):
        assert row[choice] == row[family == family[choice]].max()  # and of its children the likeliest
    assert (TREE.decide(p, "tree") != decided).any()


@pytest.mark.parametrize("tree", [TREE, ClassTree(np.full(5, -1))], ids=["deep", "flat"])
def test_a_label_covers_itself_and_what_is_under_it(tree):
    labels, classes = (grid.ravel() for grid in np.meshgrid(np.arange(len(tree)), np.arange(5)))
    expected = [label == c or (tree is TREE and label in above(c)) for label, c in zip(labels, classes, strict=True)]
    assert tree.covers(labels, classes).tolist() == expected
    assert tree.covers(labels[:0], classes[:0]).tolist() == []
