"""Leave-one-out predictions in closed form."""

import numpy as np

from core._types import Floats
from core.linalg import HistogramOperator
from core.posterior import LabelRegression, one_vs_all

BLOCK_ROWS = 256  # of the inverse at a time


def leave_one_out(model: LabelRegression) -> tuple[Floats, Floats]:
    """Means (n x M) and variances of the targets (n) that each row gets from all others, in closed form.

    mu_-i = y_i - alpha_i / B_ii and var_-i = 1 / B_ii with B = (K + N)^-1 (core/DESIGN.md, section 6). In level space
    B_ii comes from leverages; elsewhere from the inverse, so that the iterative posterior pays n solves.
    """
    posterior = model.posterior
    targets = one_vs_all(model.labels, model.n_classes)
    if not len(targets):
        return targets, np.empty(0)
    own = 1.0 / _inverse_diagonal(model)
    return targets - posterior.weights * own[:, None], own


def _inverse_diagonal(model: LabelRegression) -> Floats:
    posterior, noise = model.posterior, model.posterior.noise
    operator = model.operator
    if model.name == "levels" and isinstance(operator, HistogramOperator):
        variance = posterior.variance(operator.rows)
        return np.asarray((1.0 - variance / noise) / noise)  # the leverage of a row is its variance over its noise
    n, diagonal = len(operator), np.empty(len(operator))
    for first in range(0, n, BLOCK_ROWS):
        units = np.eye(n, min(BLOCK_ROWS, n - first), -first)
        diagonal[first : first + BLOCK_ROWS] = np.diagonal(posterior.inverse_times(units)[first:])
    return diagonal
