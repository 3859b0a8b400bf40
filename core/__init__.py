"""Pure numerics: Gaussian processes with histogram intersection kernels. No I/O, no environment, no clock."""

from core._blas import share_cores
from core._jit import compile_all
from core.estimator import GPHIKClassifier
from core.forest_estimator import GPHIKForestClassifier
from core.labelling import Labelling, Parameters
from core.learner import OnlineLearner
from core.published import Published
from core.settings import Settings

__all__ = [
    "GPHIKClassifier",
    "GPHIKForestClassifier",
    "Labelling",
    "OnlineLearner",
    "Parameters",
    "Published",
    "Settings",
    "compile_all",
    "share_cores",
]
