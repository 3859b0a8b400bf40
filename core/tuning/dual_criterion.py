"""Criteria by the n x n system: any kernel."""

import numpy as np

from core._blas import blas_threads
from core._types import Floats
from core.kernels import Kernel
from core.linalg import Factor, Operator, gram, keeping_matrices
from core.tuning.criteria import CriterionName, Evaluation, evidence_value


class DualCriterion:
    """Evidence or leave-one-out squared error from B = (K + N)^-1, N = noise * shape."""

    def __init__(self, operator: Operator, targets: Floats, shape: Floats, name: CriterionName) -> None:
        self._operator = keeping_matrices(operator)
        self._targets = targets
        self._shape = shape
        self._name = name

    def __call__(self, kernel: Kernel, noise: float, *, gradient: bool = False) -> Evaluation:
        operator = self._operator.with_kernel(kernel)
        factor = Factor(len(operator), lambda out: gram(operator, noise * self._shape, out))
        inverse = factor.inverse()
        weights = inverse @ self._targets
        if self._name == "evidence":
            fit = float(np.vdot(self._targets, weights))
            n, m = self._targets.shape
            value, amplitude = evidence_value(fit, factor.log_determinant(), n, m), fit / (n * m)
            by_matrix = (m * inverse - weights @ weights.T) / 2 if gradient else None
        else:
            value, amplitude, by_matrix = self._leave_one_out(inverse, weights, gradient)
        if by_matrix is None:
            return Evaluation(value, amplitude)
        by_log_noise = float(np.diagonal(by_matrix) @ (noise * self._shape))
        return Evaluation(value, amplitude, operator.pull_back_matrix(by_matrix), by_log_noise)

    def _leave_one_out(self, inverse: Floats, weights: Floats, gradient: bool) -> tuple[float, float, Floats | None]:
        """Mean over rows and columns of r^2, r_i = y_i - mu_-i = alpha_i / B_ii (core/DESIGN.md, section 6)."""
        own = np.diagonal(inverse)[:, None]
        residuals = weights / own
        value, amplitude = float(np.mean(residuals**2)), float(np.mean(residuals**2 * own))
        if not gradient:
            return value, amplitude, None
        # dL = 2 sum_i r_i / B_ii (-(B dA alpha)_i + r_i (B dA B)_ii), collected into tr(H dA).
        shares = residuals / own
        q = (shares * residuals).sum(axis=1)
        p = inverse @ shares
        cross = p @ weights.T
        with blas_threads(2 * len(inverse) ** 3):
            half = inverse * np.sqrt(2.0 * q)
            by_matrix = half @ half.T - cross - cross.T
        return value, amplitude, by_matrix / residuals.size
