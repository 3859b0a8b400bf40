"""Query strategies: a score per item, the lowest is asked first (design, section 6; paper 002, section 5)."""

from collections.abc import Callable

import numpy as np
from scipy.special import xlogy
from scipy.stats import norm

from core._types import Floats
from core.posterior import probit
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
    p = probit(state.mean, state.spread**2)
    return np.asarray(xlogy(p, p).sum(axis=1))


def bald(state: PoolState, _: np.random.Generator) -> Floats:
    """Most to be learnt about the functions: entropy of the answer less what noise alone explains (Houlsby 2011)."""
    c = np.sqrt(np.pi * np.log(2.0) / 2.0)
    mu, var = state.mean / np.sqrt(state.noise), (state.variance / state.noise)[:, None]
    p = norm.cdf(mu / np.sqrt(var + 1.0))
    total = -(xlogy(p, p) + xlogy(1.0 - p, 1.0 - p)) / np.log(2.0)
    noise = c / np.sqrt(var + c**2) * np.exp(-(mu**2) / (2.0 * (var + c**2)))
    return np.asarray(-(total - noise).sum(axis=1))


def emoc(state: PoolState, _: np.random.Generator) -> Floats:
    """Largest expected change of the model's output over the pool: sum_y p(y) |y - mu| / s * mean |c(x, x')|."""
    p = probit(state.mean, state.spread**2)
    # |y - mu| summed over the columns, for each class that may be the answer: only the answer's own column is +1.
    others = np.abs(-1.0 - state.mean)
    change = others.sum(axis=1, keepdims=True) - others + np.abs(1.0 - state.mean)
    reach = np.abs(state.covariance(state.rows, state.reference)).mean(axis=1)
    return np.asarray(-(p * change).sum(axis=1) / state.spread**2 * reach)


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
