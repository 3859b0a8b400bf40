"""Evidence and leave-one-out error, their gradients, and the search for hyperparameters."""

from core.evidence.bound import BoundCriterion
from core.evidence.criteria import Criterion, CriterionName, Evaluation
from core.evidence.dual import DualCriterion
from core.evidence.leave_one_out import leave_one_out
from core.evidence.levels import LevelCriterion
from core.evidence.search import Found, Setting, gradient_search, simplex_search
from core.evidence.tune import Tuned, criterion_for, free_parameters, tune

__all__ = [
    "BoundCriterion",
    "Criterion",
    "CriterionName",
    "DualCriterion",
    "Evaluation",
    "Found",
    "LevelCriterion",
    "Setting",
    "Tuned",
    "criterion_for",
    "free_parameters",
    "gradient_search",
    "leave_one_out",
    "simplex_search",
    "tune",
]
