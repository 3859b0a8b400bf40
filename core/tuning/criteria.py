"""Protocol of the criteria that are minimised over hyperparameters."""

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from core._types import Floats
from core.kernels import Kernel

CriterionName = Literal["loo", "evidence", "bound"]


@dataclass(frozen=True)
class Evaluation:
    """A criterion at one setting.

    `amplitude` is the factor by which kernel and noise together should grow: it leaves every mean as it is and makes
    the variances fit the data (of leave-one-out residuals, or of the evidence).
    """

    value: float
    amplitude: float
    by_theta: Floats | None = None  # gradient by the kernel's theta
    by_log_noise: float | None = None


class Criterion(Protocol):
    """A function of the kernel and the noise, over fixed rows and targets."""

    def __call__(self, kernel: Kernel, noise: float, *, gradient: bool = False) -> Evaluation:
        """Evaluate; with the gradient if asked for."""
        ...


def evidence_value(fit: float, log_determinant: float, n: int, n_columns: int) -> float:
    """Negative log likelihood of all columns together (Rodner2012, eq. 3): fit = sum_m y_m^T (K + N)^-1 y_m."""
    return float(fit / 2 + n_columns * (log_determinant + n * np.log(2 * np.pi)) / 2)
