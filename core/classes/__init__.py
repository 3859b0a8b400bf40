"""Classes, by number and by name, as a list or a tree."""

from core.classes.labels import checked_labels, checked_rows, class_names, union_of_labels
from core.classes.nodes import Nodes, checked_name
from core.classes.tree import ROOT, ClassTree, Loss

__all__ = [
    "ROOT",
    "ClassTree",
    "Loss",
    "Nodes",
    "checked_labels",
    "checked_name",
    "checked_rows",
    "class_names",
    "union_of_labels",
]
