"""Random decision forests with Gaussian processes in their leaves (Froehlich et al. 2012)."""

from core.forest.forest import Forest, groups
from core.forest.leaf import LeafSettings
from core.forest.mixture import Mixture, TreeMoments, leaf_probabilities, mixture
from core.forest.rows import TableRows
from core.forest.tree import Tree, TreeRule, dump_trees, grow, load_trees, tree_rule
from core.forest.tuning import LEAF_SIZES, Candidate, LeavesTuned, tune_shared, validate

__all__ = [
    "LEAF_SIZES",
    "Candidate",
    "Forest",
    "LeafSettings",
    "LeavesTuned",
    "Mixture",
    "TableRows",
    "Tree",
    "TreeMoments",
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
