"""What acts on level values: transforms and weights; RBF and linear for the dual posterior."""

from core.kernels.base import Kernel, group_weights
from core.kernels.dense import DenseKernel, LinearKernel, RBFKernel
from core.kernels.intersection import IntersectionKernel, NormalisedIntersectionKernel, Transform
from core.kernels.sum import ChannelKernel, SumKernel, own_parameters

__all__ = [
    "ChannelKernel",
    "DenseKernel",
    "IntersectionKernel",
    "Kernel",
    "LinearKernel",
    "NormalisedIntersectionKernel",
    "RBFKernel",
    "SumKernel",
    "Transform",
    "group_weights",
    "own_parameters",
]
