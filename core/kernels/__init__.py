"""What acts on level values: transforms and weights; RBF and linear for the dual posterior."""

from core.kernels.base import Kernel, group_weights
from core.kernels.dense import DenseKernel, LinearKernel, RBFKernel
from core.kernels.intersection import IntersectionKernel, NormalisedIntersectionKernel, Transform

__all__ = [
    "DenseKernel",
    "IntersectionKernel",
    "Kernel",
    "LinearKernel",
    "NormalisedIntersectionKernel",
    "RBFKernel",
    "Transform",
    "group_weights",
]
