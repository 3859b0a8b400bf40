"""Evidence and leave-one-out error, their gradients, and the search for hyperparameters."""

from core.evidence.bound import BoundCriterion
from core.evidence.criteria import Criterion, CriterionName, Evaluation
from core.evidence.dual import DualCriterion
from core.evidence.leave_one_out import leave_one_out
from core.evidence.levels import LevelCriterion
from core.evidence.search import Found, Setting, gradient_search, simplex_search
from core.evidence.tune import Given, Tuned, bounds_met, criterion_for, free_parameters, in_units, starts, tune

__all__ = [
    "BoundCriterion",
    "Criterion",
    "CriterionName",
    "DualCriterion",
    "Evaluation",
    "Found",
    "Given",
    "LevelCriterion",
    "Setting",
    "Tuned",
    "bounds_met",
    "criterion_for",
    "free_parameters",
    "gradient_search",
    "in_units",
    "leave_one_out",
    "simplex_search",
    "starts",
    "tune",
]
