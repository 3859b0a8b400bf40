"""Kernel operators, block CG, Cholesky factors that follow their matrix."""

from core.linalg.block_cg import CGResult, block_cg
from core.linalg.cholesky import Factor, with_room
from core.linalg.coarse import COARSE_LEVELS, CoarsePreconditioner
from core.linalg.dense_operator import DenseOperator, RBFPredictor, StoredOperator
from core.linalg.features import LevelFeatures
from core.linalg.group_matrices import keeping_matrices
from core.linalg.histogram_operator import CodedTable, HistogramOperator, LookupTable
from core.linalg.kernel_error import KernelError, added_error, kernel_error
from core.linalg.lanczos import largest_eigenpairs
from core.linalg.level_system import LevelSystem
from core.linalg.linear_operator import LinearOperator, LinearPredictor
from core.linalg.normalised_operator import NormalisedOperator, NormalisedTable, histogram_operator
from core.linalg.operator import KernelExpansion, Operator, Predictor, gram
from core.linalg.sum_operator import ChannelSum, SumOperator
from core.linalg.units import AtBound, Units

__all__ = [
    "COARSE_LEVELS",
    "AtBound",
    "CGResult",
    "ChannelSum",
    "CoarsePreconditioner",
    "CodedTable",
    "DenseOperator",
    "Factor",
    "HistogramOperator",
    "KernelError",
    "KernelExpansion",
    "LevelFeatures",
    "LevelSystem",
    "LinearOperator",
    "LinearPredictor",
    "LookupTable",
    "NormalisedOperator",
    "NormalisedTable",
    "Operator",
    "Predictor",
    "RBFPredictor",
    "StoredOperator",
    "SumOperator",
    "Units",
    "added_error",
    "block_cg",
    "gram",
    "histogram_operator",
    "keeping_matrices",
    "kernel_error",
    "largest_eigenpairs",
    "with_room",
]
