"""Random decision forests with Gaussian processes in their leaves (Froehlich et al. 2012)."""

from core.forest.forest import Forest, groups
from core.forest.leaf import Leaf, LeafModel, LeafSettings
from core.forest.mixture import Answers, Mixture, leaf_probabilities, mixture
from core.forest.rows import ForestRows, TableRows
from core.forest.tree import PlainTree, Tree, TreeRule, dump_trees, grow, load_trees, tree_rule
from core.forest.tuning import LEAF_SIZES, Candidate, LeavesTuned, tune_shared, validate

__all__ = [
    "LEAF_SIZES",
    "Answers",
    "Candidate",
    "Forest",
    "ForestRows",
    "Leaf",
    "LeafModel",
    "LeafSettings",
    "LeavesTuned",
    "Mixture",
    "PlainTree",
    "TableRows",
    "Tree",
    "TreeRule",
    "dump_trees",
    "groups",
    "grow",
    "leaf_probabilities",
    "load_trees",
    "mixture",
    "tree_rule",
    "tune_shared",
    "validate",
]
