"""Intersection kernels of fixed rows under many weights: the matrix of each group of columns is computed once."""

from functools import cached_property
from typing import Self

import numpy as np

from core._types import Floats, Indices
from core.histograms import CodedRows, Histograms
from core.kernels import IntersectionKernel
from core.linalg.histogram_operator import HistogramOperator
from core.linalg.operator import Operator
from core.linalg.sum_operator import SumOperator

MAX_BYTES = 2**29  # of the matrices that are kept


def keeping_matrices(operator: Operator) -> Operator:
    """The same rows for many kernels, with the matrices that do not change from one to the next, where that pays."""
    if isinstance(operator, SumOperator):
        return operator.keeping_matrices()
    if type(operator) is not HistogramOperator or operator.kernel.transform is not None:
        return operator  # the matrix is no sum over groups, or all values change with eta
    n, groups = len(operator), len(operator.kernel.weights)
    pays = groups * n <= operator.rows.nnz and 8 * groups * n**2 <= MAX_BYTES
    return GroupMatrices.of(operator) if pays else operator


class GroupMatrices(HistogramOperator):
    """K = bias + sum_g weight_g K_g over the groups of columns; rows stay as they are.

    >>> x = np.array([[0.5, 0.0, 0.2], [0.3, 0.4, 0.1]])
    >>> kernel = IntersectionKernel(np.array([1.0, 10.0]), np.array([0, 0, 1]), bias=0.0)
    >>> GroupMatrices.of(HistogramOperator(Histograms.of(x), kernel)).kernel_matrix().round(6).tolist()
    [[2.5, 1.3], [1.3, 1.7]]
    """

    _matrices: Floats  # G x n x n

    @classmethod
    def of(cls, operator: HistogramOperator) -> Self:
        """The matrix of each group, by the codes of its columns alone."""
        kept = cls(operator.histograms, operator.kernel)
        rows, levels, kernel = operator.rows, operator.levels, operator.kernel
        plain = IntersectionKernel(np.ones_like(kernel.weights), kernel.groups, bias=0.0)
        group = np.append(kernel.groups, -1)[levels.dims][rows.codes]  # the constant column is in none
        kept._matrices = np.empty((len(kernel.weights), len(rows), len(rows)))
        for number, matrix in enumerate(kept._matrices):
            own = group == number
            starts = np.concatenate(([0], np.cumsum(own)))[rows.starts]
            some = CodedRows.of(rows.codes[own], starts, rows.lineage)
            matrix[:] = HistogramOperator(Histograms(levels, some), plain).cross(some)
        return kept

    def with_kernel(self, kernel: IntersectionKernel) -> Self:
        """The same rows and matrices under other weights."""
        twin = super().with_kernel(kernel)
        twin._matrices = self._matrices
        return twin

    def only(self, rows: Indices) -> Self:
        """An operator of these rows alone, with their part of the matrices."""
        twin = super().only(rows)
        twin._matrices = self._matrices[np.ix_(np.arange(len(self._matrices)), rows, rows)]
        return twin

    def kernel_matrix(self) -> Floats:
        """K, n x n."""
        return self._matrix

    @cached_property
    def _matrix(self) -> Floats:
        return np.asarray(np.tensordot(self.kernel.weights, self._matrices, 1) + self.kernel.bias)

    def product(self, v: Floats) -> Floats:
        """K V."""
        return np.asarray(self._matrix @ v)

    def pull_back(self, e: Floats, f: Floats) -> Floats:
        """Gradient of the sum of the columns' e^T K f by eta, bias and weights."""
        by_weights = [np.vdot(e, matrix @ f) for matrix in self._matrices]
        return np.array([0.0, np.vdot(e.sum(axis=0), f.sum(axis=0)), *by_weights])

    def pull_back_matrix(self, gradient: Floats) -> Floats:
        """Gradient by eta, bias and weights, from that by K."""
        by_weights = [np.vdot(matrix, gradient) for matrix in self._matrices]
        return np.array([0.0, gradient.sum(), *by_weights])  # eta changes nothing without a transform
