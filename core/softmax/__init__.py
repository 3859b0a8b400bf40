"""Penalised multinomial likelihood, class trees, cross-validation gradient (paper 001)."""

from core.softmax.classes import SoftmaxClasses
from core.softmax.cross_validation import CrossValidation, Search, Tie, TunedPrior, tune_prior
from core.softmax.curvature import Curvature
from core.softmax.joint import JointKernel, Latents
from core.softmax.labelled import LabelledSoftmax
from core.softmax.model import SoftmaxRegression
from core.softmax.newton import Fit, fit
from core.softmax.prior import Prior, PriorGradient
from core.softmax.scores import TreeScores
from core.softmax.subspace import Subspace
from core.softmax.targets import Targets
from core.softmax.tree import ROOT, ClassTree, Loss, NamedTree
from core.softmax.uncertainty import centred, laplace_posterior, row_weights

__all__ = [
    "ROOT",
    "ClassTree",
    "CrossValidation",
    "Curvature",
    "Fit",
    "JointKernel",
    "LabelledSoftmax",
    "Latents",
    "Loss",
    "NamedTree",
    "Prior",
    "PriorGradient",
    "Search",
    "SoftmaxClasses",
    "SoftmaxRegression",
    "Subspace",
    "Targets",
    "Tie",
    "TreeScores",
    "TunedPrior",
    "centred",
    "fit",
    "laplace_posterior",
    "row_weights",
    "tune_prior",
]
