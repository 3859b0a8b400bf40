"""What was said of each label before it came: of labels that were asked for nothing else is honest."""

from collections.abc import Callable

import numpy as np

from core._types import Floats
from core.linalg import Factor, gram
from core.posterior import LabelRegression, one_vs_all

NOISES = (1.0, 2.0, 4.0, 8.0, 16.0)  # times what a search has found
EARLY = 4  # the first label in so many: before them too little was known
LEAST = 50  # labels that tell how much noise there is: of fewer, the first of each region all come unexpected
MANY = 1000  # labels above which the later ones say enough, and a factor in their order costs too much


def earlier_predictions(model: LabelRegression) -> tuple[Floats, Floats, Floats]:
    """Means of each label by all before it (n x M), of the second half by the first, and deviations of the former (n).

    One Cholesky factor L of K + N has them all: with z = L^-1 y, label i is predicted as y_i - L_ii z_i with the
    variance L_ii^2, and the second half by the first as the lower left part of L times the first half of z.
    """
    targets, n = one_vs_all(model.labels, model.n_classes), len(model.labels)
    factor, z = _in_order(model, targets, 1.0)
    deviations, half = np.diag(factor.lower), n // 2
    return targets - deviations[:, None] * z, factor.lower[half:, :half] @ z[:half], deviations


def raise_noise(model: LabelRegression, on_step: Callable[[], object] = lambda: None) -> None:
    """Give a model that predicts its labels best from all others the noise to predict them from those before, if more.

    Items that are asked about lie between classes, and later ones beside earlier ones: by leave-one-out error there
    seems to be less noise than there is. The amplitude follows, so that variances fit these errors.
    """
    n = len(model.labels)
    if not LEAST <= n <= MANY:
        return
    targets, late = one_vs_all(model.labels, model.n_classes), slice(n // EARLY, None)
    best, least, amplitude = 1.0, np.inf, 1.0
    for times in NOISES:
        on_step()
        factor, z = _in_order(model, targets, times)
        error = float(np.mean((np.diag(factor.lower)[late, None] * z[late]) ** 2))
        if error < least:
            best, least, amplitude = times, error, float(np.mean(z[late] ** 2))
    if best > 1.0:
        model.reset(model.operator.kernel.scaled(amplitude), model.noise * best * amplitude)


def _in_order(model: LabelRegression, targets: Floats, times: float) -> tuple[Factor, Floats]:
    """The factor L of K and so many times the noise, and L^-1 targets."""
    factor = Factor(len(targets), lambda out: gram(model.operator, times * model.posterior.noise, out))
    return factor, factor.half_solve(targets)
