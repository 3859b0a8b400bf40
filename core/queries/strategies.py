"""Query strategies: a score per item, the lowest is asked first (core/DESIGN.md, section 7; Freytag2012, section 5).

To add one, write a function of the state and a seed, and enter it in STRATEGIES with what it looks at. CONTRIBUTING.md
says where its name is listed besides.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import xlogy

from core._types import Floats
from core.models.state import PoolState
from core.probabilities import novelty as novelty_of
from core.queries.draws import RANDOM, drawn

Score = Callable[[PoolState, int], Floats]


@dataclass(frozen=True)
class Strategy:
    """A score, and what it needs; the reference is a sample that stands for the whole pool."""

    score: Score  # of a state and a seed
    reference: Literal["covariance", "kernel", "ahead"] | None = None  # state.to_reference, .likeness, or .ahead
    covered: bool = False  # state.covered: what is labelled or asked about, seen from the reference
    wanted: bool = False  # state.wanted: there is a class to be found
    alone: bool = False  # items do not stand for each other: a batch has the best ones, be they alike or not
    doubts: bool = False  # state.doubts: how uncertain the reference is
    shortlist: Score | None = None  # a cheaper score, whose best items are looked at in earnest
    then: str | None = None  # the strategy that takes over once labels predict each other
    bounded: bool = False  # the variance may be a bound: state.doubt, .spread
    prior: bool = False  # state.prior: what the variance is where nothing is known
    one_class: bool = False  # means something before labels tell classes apart
    lasts: bool = False  # scores depend on the model alone, not on the seed or on what is asked about

    @property
    def first(self) -> "Strategy":
        """What all items of the pool are scored by."""
        return self if self.shortlist is None else Strategy(self.shortlist, lasts=self.lasts)

    def __call__(self, state: PoolState, seed: int) -> Floats:
        """Scores of the items of a state."""
        return self.score(state, seed)


def random(state: PoolState, seed: int) -> Floats:
    """Any item."""
    return drawn(seed, RANDOM, state.rows)


def mean(state: PoolState, _: int) -> Floats:
    """Near the decision boundary."""
    return state.margin


def variance(state: PoolState, _: int) -> Floats:
    """Least known, whatever the class."""
    return -state.doubt


def novelty(state: PoolState, _: int) -> Floats:
    """Most unlike everything labelled: the largest share of its prior variance is left (Freytag2012, section 6.3)."""
    return -novelty_of(state.variance, state.prior)


def unc(state: PoolState, _: int) -> Floats:
    """Near the boundary in units of its own uncertainty."""
    return np.asarray(state.margin / state.spread)


def unc_plus(state: PoolState, _: int) -> Floats:
    """Near the boundary, and near to what is known (Freytag2012, eq. 17).

    The lead of the best class of three or more is a difference of two means, as 2 |mu| is for two: it counts by half.
    """
    return np.asarray((state.margin if state.mean.shape[1] <= 2 else state.margin / 2.0) + state.spread)


def entropy(state: PoolState, _: int) -> Floats:
    """Largest entropy of the class probabilities."""
    p = state.probabilities
    return np.asarray(xlogy(p, p).sum(axis=1))


def bald(state: PoolState, _: int) -> Floats:
    """Most to be learnt about the functions."""
    return -state.information


def emoc(state: PoolState, _: int) -> Floats:
    """Largest expected change of the model's output over the pool: sum_y p(y) |y - mu| / s * mean |c(x, x')|."""
    reach = np.abs(state.to_reference).mean(axis=1)
    return np.asarray(-(state.probabilities * state.surprises).sum(axis=1) / state.spread**2 * reach)


def density(state: PoolState, seed: int) -> Floats:
    """Uncertain, and like much of the pool."""
    return np.asarray(-np.exp(-unc(state, seed)) * state.likeness.mean(axis=1))


def herding(state: PoolState, _: int) -> Floats:
    """Cold start: the item that most of the pool, not yet like a labelled one, is like (max-herding)."""
    return np.asarray(-_gain(state).sum(axis=1))


def _gain(state: PoolState) -> Floats:
    """By how much more each item of the reference is like an item than like a labelled one, m x R."""
    likeness, covered = state.likeness, state.covered
    return likeness if covered is None else np.maximum(likeness - covered, 0.0)


def likely(state: PoolState, _: int) -> Floats:
    """Most probably of the wanted class, to find all of it."""
    return -state.odds


def uncertainty_herding(state: PoolState, _: int) -> Floats:
    """Cold start: herding with a weight, for what is uncertain (Bae2024)."""
    doubts = state.doubts
    return np.asarray(-_gain(state) @ (doubts if doubts.any() else np.ones_like(doubts)))


def eer(state: PoolState, _: int) -> Floats:
    """Least expected loss of the pool once there is an answer (expected error reduction, Roy and McCallum 2001)."""
    return state.ahead.expected_loss()


def epig(state: PoolState, _: int) -> Floats:
    """Most to be learnt about the answers of other items (Smith2023)."""
    return -state.ahead.information()


STRATEGIES: dict[str, Strategy] = {
    "random": Strategy(random, one_class=True),
    "mean": Strategy(mean, lasts=True),
    "variance": Strategy(variance, bounded=True, one_class=True, lasts=True),
    "novelty": Strategy(novelty, prior=True, one_class=True, lasts=True),
    "unc": Strategy(unc, bounded=True, lasts=True),
    "unc+": Strategy(unc_plus, bounded=True, lasts=True),
    "entropy": Strategy(entropy, lasts=True),
    "bald": Strategy(bald, lasts=True),
    "emoc": Strategy(emoc, reference="covariance", lasts=True),
    "density": Strategy(density, reference="kernel", lasts=True),
    "herding": Strategy(herding, reference="kernel", covered=True, one_class=True),
    "uherding": Strategy(uncertainty_herding, reference="kernel", covered=True, doubts=True, then="unc"),
    "eer": Strategy(eer, reference="ahead", shortlist=unc, lasts=True),
    "epig": Strategy(epig, reference="ahead", shortlist=unc, lasts=True),
    "likely": Strategy(likely, wanted=True, alone=True, lasts=True),
}
