"""Evidence and leave-one-out error, their gradients, and the search for hyperparameters."""

from core.evidence.criteria import Criterion, CriterionName, Evaluation
from core.evidence.dual import DualCriterion
from core.evidence.levels import LevelCriterion

__all__ = ["Criterion", "CriterionName", "DualCriterion", "Evaluation", "LevelCriterion"]
