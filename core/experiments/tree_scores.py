"""How good predictions in a tree of classes are (Seeger2008, section 6.1)."""

from dataclasses import dataclass

from core._types import Floats, Indices
from core.classes.tree import ClassTree
from core.metrics import mean_reciprocal_rank


@dataclass(frozen=True)
class TreeScores:
    """Each by the decision that is best for it."""

    accuracy: float
    precision: float  # mean of 1 / rank of the true class
    parent_accuracy: float
    taxo_loss: float  # mean of half the path from the prediction to the truth

    @classmethod
    def of(cls, tree: ClassTree, probabilities: Floats, labels: Indices) -> "TreeScores":
        """From probabilities of the classes (m x C) and the true ones (m).

        >>> import numpy as np
        >>> tree = ClassTree(np.array([3, 3, -1, -1]))
        >>> TreeScores.of(tree, np.array([[0.7, 0.2, 0.1]]), np.array([1]))
        TreeScores(accuracy=0.0, precision=0.5, parent_accuracy=1.0, taxo_loss=1.0)
        """
        by_class, by_parent, by_tree = (tree.decide(probabilities, loss) for loss in ("class", "parent", "tree"))
        return cls(
            float((by_class == labels).mean()),
            mean_reciprocal_rank(probabilities, labels),
            float((tree.parents[by_parent] == tree.parents[labels]).mean()),
            float(tree.distance(by_tree, labels).mean()),
        )
