"""Query strategies: a score per item, the lowest is asked first (design, section 6; paper 002, section 5)."""

from collections.abc import Callable

import numpy as np
from scipy.special import xlogy

from core._types import Floats
from core.queries.state import PoolState

Score = Callable[[PoolState, np.random.Generator], Floats]


def random(state: PoolState, rng: np.random.Generator) -> Floats:
    """Any item."""
    return rng.random(len(state))


def mean(state: PoolState, _: np.random.Generator) -> Floats:
    """Near the decision boundary."""
    return state.margin


def variance(state: PoolState, _: np.random.Generator) -> Floats:
    """Least known, whatever the class."""
    return -state.variance


def unc(state: PoolState, _: np.random.Generator) -> Floats:
    """Near the boundary in units of its own uncertainty."""
    return np.asarray(state.margin / state.spread)


def unc_plus(state: PoolState, _: np.random.Generator) -> Floats:
    """Near the boundary, and near to what is known (paper 002, eq. 17)."""
    return np.asarray(state.margin + state.spread)


def entropy(state: PoolState, _: np.random.Generator) -> Floats:
    """Largest entropy of the class probabilities."""
    p = state.probabilities
    return np.asarray(xlogy(p, p).sum(axis=1))


def bald(state: PoolState, _: np.random.Generator) -> Floats:
    """Most to be learnt about the functions."""
    return -state.information


def emoc(state: PoolState, _: np.random.Generator) -> Floats:
    """Largest expected change of the model's output over the pool: sum_y p(y) |y - mu| / s * mean |c(x, x')|."""
    reach = np.abs(state.covariance(state.rows, state.reference)).mean(axis=1)
    return np.asarray(-(state.probabilities * state.surprises).sum(axis=1) / state.spread**2 * reach)


def density(state: PoolState, rng: np.random.Generator) -> Floats:
    """Uncertain, and like much of the pool."""
    likeness = state.kernel(state.rows, state.reference).mean(axis=1)
    return np.asarray(-np.exp(-unc(state, rng)) * likeness)


def herding(state: PoolState, _: np.random.Generator) -> Floats:
    """Cold start: the item that most of the pool, not yet like a labelled one, is like (max-herding)."""
    likeness = state.kernel(state.rows, state.reference)
    if not len(state.labelled):
        return np.asarray(-likeness.sum(axis=1))
    covered = state.kernel(state.reference, state.labelled).max(axis=1)
    return np.asarray(-np.maximum(likeness - covered, 0.0).sum(axis=1))


STRATEGIES: dict[str, Score] = {
    "random": random,
    "mean": mean,
    "variance": variance,
    "unc": unc,
    "unc+": unc_plus,
    "entropy": entropy,
    "bald": bald,
    "emoc": emoc,
    "density": density,
    "herding": herding,
}
