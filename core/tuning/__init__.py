"""Evidence and leave-one-out error, their gradients, and the search for hyperparameters."""

from core.tuning.bound_criterion import BoundCriterion
from core.tuning.calibration import DRAWN, asked_sharpness, find_sharpness, mean_gap
from core.tuning.criteria import Criterion, CriterionName, Evaluation
from core.tuning.dual_criterion import DualCriterion
from core.tuning.earlier import earlier_predictions, raise_noise
from core.tuning.leave_one_out import leave_one_out
from core.tuning.level_criterion import LevelCriterion
from core.tuning.search import Found, Setting, gradient_search, simplex_search
from core.tuning.tune import Given, Tuned, bounds_met, criterion_for, free_parameters, in_units, starts, tune

__all__ = [
    "DRAWN",
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
    "asked_sharpness",
    "bounds_met",
    "criterion_for",
    "earlier_predictions",
    "find_sharpness",
    "free_parameters",
    "gradient_search",
    "in_units",
    "leave_one_out",
    "mean_gap",
    "raise_noise",
    "simplex_search",
    "starts",
    "tune",
]
