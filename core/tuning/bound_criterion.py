"""A bound of the evidence for systems that cannot be factored (Rodner2012, section 5.2)."""

import numpy as np

from core._types import Floats
from core.kernels import IntersectionKernel, Kernel
from core.linalg import CoarsePreconditioner, HistogramOperator, block_cg, largest_eigenpairs
from core.tuning.criteria import Evaluation, evidence_value

TOLERANCE = 1e-4  # relative, of the weights: the bound is coarser than that


def log_determinant_bound(largest: float, trace: float, squares: float, n: int) -> float:
    """Upper bound of log |A| (Bai and Golub, eq. 9) from an upper end of the spectrum and two moments.

    `squares` may be a lower bound of |A|_F^2: the result then is larger, still a bound (theorem 1).

    >>> round(log_determinant_bound(4.0, trace=6.0, squares=18.0, n=3), 6) == round(float(np.log(4.0)), 6)
    True
    """
    # No n numbers with this trace have squares below trace^2 / n; there all are equal.
    squares = max(squares, trace**2 / n)
    t = (largest * trace - squares) / (largest * n - trace) if largest * n > trace else largest
    if not 0.0 < t < largest * (1.0 - 1e-12):
        return float(n * np.log(trace / n))
    a, b = np.linalg.solve([[largest, t], [largest**2, t**2]], [trace, squares])
    return float(a * np.log(largest) + b * np.log(t))


class BoundCriterion:
    """Upper bound of the evidence from kernel products: CG for the fit, Lanczos for the determinant."""

    def __init__(self, operator: HistogramOperator, targets: Floats, shape: Floats) -> None:
        self._operator = operator
        self._targets = targets
        self._shape = shape
        self._weights: Floats | None = None  # of the last setting: a good start for the next

    def __call__(self, kernel: Kernel, noise: float, *, gradient: bool = False) -> Evaluation:
        if gradient or not isinstance(kernel, IntersectionKernel):
            raise ValueError("the bound has no gradient and is for histogram kernels; use evidence or loo")
        operator = self._operator.with_kernel(kernel)
        diagonal = noise * self._shape
        n, m = self._targets.shape

        def multiply(v: Floats) -> Floats:
            return operator.product(v) + diagonal[:, None] * v

        precondition = CoarsePreconditioner(operator.features(), diagonal)
        result = block_cg(multiply, self._targets, self._weights, precondition=precondition, tolerance=TOLERANCE)
        self._weights = result.x
        # For any x, 2 x^T y - x^T A x <= y^T A^-1 y; what the residual leaves open is added from |A^-1| <= 1 / min N.
        residual = self._targets - multiply(result.x)
        fit = float(np.vdot(result.x, self._targets + residual) + np.vdot(residual, residual) / diagonal.min())
        values, _ = largest_eigenpairs(multiply, n, min(max(m, 2), n))
        trace = float(operator.diagonal(operator.rows).sum() + diagonal.sum())
        # Lanczos comes from below: what the squares lack by that raises the bound more than the largest lowers it.
        determinant = log_determinant_bound(float(values[0]), trace, float((values**2).sum()), n)
        return Evaluation(evidence_value(fit, determinant, n, m), fit / (n * m))
