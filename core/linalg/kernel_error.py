"""The error that quantisation makes in kernel values."""

from dataclasses import dataclass

import numpy as np

from core._types import Floats, Table
from core.histograms import Histograms, RawRows, code_rows, raw_rows
from core.linalg.histogram_operator import HistogramOperator
from core.linalg.normalised_operator import histogram_operator
from core.linalg.operator import Operator

SAMPLE_ROWS = 128


@dataclass(frozen=True)
class KernelError:
    """Difference between the kernel on quantised values and on the values as they came, over pairs of sampled rows."""

    mean: float  # of the absolute differences
    max: float
    relative: float  # mean, divided by the mean kernel value

    def worse(self, other: "KernelError") -> "KernelError":
        """The larger of each."""
        return KernelError(max(self.mean, other.mean), max(self.max, other.max), max(self.relative, other.relative))

    @classmethod
    def between(cls, exact: Floats, coarse: Floats) -> "KernelError":
        """Of two matrices of kernel values."""
        errors, size = np.abs(coarse - exact), float(exact.mean())
        mean = float(errors.mean())
        return cls(mean, float(errors.max()), mean / size if size > 0.0 else 0.0)


def kernel_error(x: Table, operator: Operator) -> KernelError:
    """Measured on rows that are spread evenly over x; zero where nothing was quantised.

    >>> x = np.array([[0.1], [0.2], [0.6]])
    >>> from core.kernels import IntersectionKernel
    >>> kernel = IntersectionKernel(np.ones(1), np.zeros(1, dtype=int), bias=0.0)
    >>> round(kernel_error(x, HistogramOperator(Histograms.of(x, 2), kernel)).max, 3)
    0.05
    """
    if not (isinstance(operator, HistogramOperator) and operator.histograms.quantised):
        return KernelError(0.0, 0.0, 0.0)
    sample = x[np.unique(np.linspace(0, x.shape[0] - 1, SAMPLE_ROWS).astype(np.int64))]
    exact = histogram_operator(Histograms.of(sample), operator.kernel)
    coded = code_rows(raw_rows(sample), operator.levels)
    coarse = histogram_operator(Histograms(operator.levels, coded), operator.kernel)
    return KernelError.between(exact.cross(exact.rows), coarse.cross(coarse.rows))


def added_error(operator: HistogramOperator, rows: RawRows) -> KernelError:
    """The same for rows that were just learnt, against all learnt rows."""
    some = np.arange(min(len(rows), SAMPLE_ROWS // 8))
    first = len(operator) - len(rows)
    return KernelError.between(operator.cross(rows.take(some)), operator.cross(operator.training_rows(first + some)))
