"""Three exact posteriors behind one protocol (core/DESIGN.md, section 3)."""

from core.posterior.base import Posterior
from core.posterior.choose import POSTERIORS, choose, costs
from core.posterior.dual import DualPosterior
from core.posterior.level_space import LevelPosterior
from core.posterior.parts import LocalParts, Part, Parts
from core.posterior.pool import PoolPosterior
from core.posterior.regression import LabelRegression, PosteriorRule, one_vs_all
from core.posterior.sums import LevelSums, SummedRegression

__all__ = [
    "POSTERIORS",
    "DualPosterior",
    "LabelRegression",
    "LevelPosterior",
    "LevelSums",
    "LocalParts",
    "Part",
    "Parts",
    "PoolPosterior",
    "Posterior",
    "PosteriorRule",
    "SummedRegression",
    "choose",
    "costs",
    "one_vs_all",
]
