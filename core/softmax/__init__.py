"""Penalised multinomial likelihood, class trees, cross-validation gradient (Seeger2008)."""

from core.softmax.classes import SoftmaxClasses
from core.softmax.cross_validation import CrossValidation
from core.softmax.curvature import Curvature
from core.softmax.joint import JointKernel, Latents
from core.softmax.laplace import centred, laplace_posterior, row_weights
from core.softmax.model import SoftmaxRegression
from core.softmax.newton import fit
from core.softmax.prior import Prior, PriorGradient
from core.softmax.search import Search, TunedPrior, tune_prior
from core.softmax.subspace import Subspace
from core.softmax.targets import Targets
from core.softmax.tree_scores import TreeScores

__all__ = [
    "CrossValidation",
    "Curvature",
    "JointKernel",
    "Latents",
    "Prior",
    "PriorGradient",
    "Search",
    "SoftmaxClasses",
    "SoftmaxRegression",
    "Subspace",
    "Targets",
    "TreeScores",
    "TunedPrior",
    "centred",
    "fit",
    "laplace_posterior",
    "row_weights",
    "tune_prior",
]
