"""Pure numerics: Gaussian processes with histogram intersection kernels. No I/O, no environment, no clock."""

from core.estimator import GPHIKClassifier
from core.learner import OnlineLearner, Published
from core.settings import Settings

__all__ = ["GPHIKClassifier", "OnlineLearner", "Published", "Settings"]
