"""Three exact posteriors behind one protocol (design, section 3)."""

from core.posterior.base import Posterior, Size, between, taken
from core.posterior.choose import POSTERIORS, Cost, PosteriorName, choose, costs
from core.posterior.dual import DualPosterior
from core.posterior.iterative import IterativePosterior
from core.posterior.labelled_pool import LabelledPool
from core.posterior.levels import LevelPosterior
from core.posterior.parts import LocalParts, Part, Parts
from core.posterior.pool import PoolPosterior
from core.posterior.regression import LabelRegression, PosteriorRule, one_vs_all, probit
from core.posterior.sums import LevelSums, SummedPosterior, SummedRegression

__all__ = [
    "POSTERIORS",
    "Cost",
    "DualPosterior",
    "IterativePosterior",
    "LabelRegression",
    "LabelledPool",
    "LevelPosterior",
    "LevelSums",
    "LocalParts",
    "Part",
    "Parts",
    "PoolPosterior",
    "Posterior",
    "PosteriorName",
    "PosteriorRule",
    "Size",
    "SummedPosterior",
    "SummedRegression",
    "between",
    "choose",
    "costs",
    "one_vs_all",
    "probit",
    "taken",
]
