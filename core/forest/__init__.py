"""Random decision forests with Gaussian processes in their leaves (paper 004)."""

from core.forest.forest import Forest, Mixture
from core.forest.ground import Ground, Votes
from core.forest.labelled import LabelledForest
from core.forest.leaf import Leaf, Theory
from core.forest.pool import ForestPool
from core.forest.pool_tree import PoolTree
from core.forest.rows import RowStore
from core.forest.tree import Tree, TreeRule, grow, tree_rule
from core.forest.tuning import LEAF_SIZES, Candidate, LeavesTuned, tune_shared, validate

__all__ = [
    "LEAF_SIZES",
    "Candidate",
    "Forest",
    "ForestPool",
    "Ground",
    "LabelledForest",
    "Leaf",
    "LeavesTuned",
    "Mixture",
    "PoolTree",
    "RowStore",
    "Theory",
    "Tree",
    "TreeRule",
    "Votes",
    "grow",
    "tree_rule",
    "tune_shared",
    "validate",
]
