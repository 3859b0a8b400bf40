"""Pure numerics: Gaussian processes with histogram intersection kernels. No I/O, no environment, no clock."""

from core.estimator import GPHIKClassifier

__all__ = ["GPHIKClassifier"]
