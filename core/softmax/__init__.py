"""Penalised multinomial likelihood, class trees, cross-validation gradient (Seeger2008)."""

from core.softmax.classes import SoftmaxClasses, depth_prior
from core.softmax.cross_validation import CrossValidation
from core.softmax.curvature import Curvature
from core.softmax.joint import JointKernel, Latents, MatrixKernel
from core.softmax.laplace import centred, laplace_posterior, left_out, row_weights
from core.softmax.model import SoftmaxRegression
from core.softmax.newton import fit
from core.softmax.prior import Prior, PriorGradient
from core.softmax.search import Search, TunedPrior, tune_prior
from core.softmax.subspace import Subspace
from core.softmax.targets import Targets
from core.softmax.variances import find_variances

__all__ = [
    "CrossValidation",
    "Curvature",
    "JointKernel",
    "Latents",
    "MatrixKernel",
    "Prior",
    "PriorGradient",
    "Search",
    "SoftmaxClasses",
    "SoftmaxRegression",
    "Subspace",
    "Targets",
    "TunedPrior",
    "centred",
    "depth_prior",
    "find_variances",
    "fit",
    "laplace_posterior",
    "left_out",
    "row_weights",
    "tune_prior",
]
