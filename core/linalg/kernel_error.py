"""What quantisation does to the kernel."""

from dataclasses import dataclass

import numpy as np

from core._types import Table
from core.histograms import Histograms, code_rows, raw_rows
from core.kernels import IntersectionKernel
from core.linalg.histogram_operator import HistogramOperator

SAMPLE_ROWS = 128


@dataclass(frozen=True)
class KernelError:
    """Difference between the kernel on quantised values and on the values as they came, over pairs of sampled rows."""

    mean: float  # of the absolute differences
    max: float
    relative: float  # mean, divided by the mean kernel value


def kernel_error(x: Table, histograms: Histograms, kernel: IntersectionKernel) -> KernelError:
    """Measured on rows that are spread evenly over x; zero where nothing was quantised.

    >>> x = np.array([[0.1], [0.2], [0.6]])
    >>> kernel = IntersectionKernel(np.ones(1), np.zeros(1, dtype=int), bias=0.0)
    >>> round(kernel_error(x, Histograms.of(x, 2), kernel).max, 3)
    0.05
    """
    if not histograms.quantised:
        return KernelError(0.0, 0.0, 0.0)
    sample = x[np.unique(np.linspace(0, x.shape[0] - 1, SAMPLE_ROWS).astype(np.int64))]
    exact = HistogramOperator(Histograms.of(sample), kernel)
    coded = code_rows(raw_rows(sample), histograms.levels)
    coarse = HistogramOperator(Histograms(histograms.levels, coded), kernel)
    values = exact.cross(exact.rows)
    errors = np.abs(coarse.cross(coarse.rows) - values)
    size = float(values.mean())
    return KernelError(float(errors.mean()), float(errors.max()), float(errors.mean()) / size if size > 0.0 else 0.0)
