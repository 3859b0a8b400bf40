"""From scores to questions: one picker for all strategies.

A first look at the pool, which may be in parts, finds candidates; questions are chosen among these.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from core._types import Floats, Indices
from core.checks import check_share, check_whole
from core.models.state import PoolState
from core.queries.draws import EXPLORED, TIES, drawn
from core.queries.plugins import every_strategy
from core.queries.strategies import Strategy
from core.variance import VarianceName

CANDIDATES = 256  # looked at again for each pick of a batch
SPARE = 256  # candidates that others may have taken or skipped
SHORTLIST = 128  # the same for a look ahead, which takes longer
AHEAD = 1024  # looks ahead for a batch
PER_PICK = 8
GROUP = 32  # items, of which the lowest score is found first
ANSWERED = 0.5  # an item whose variance the picks before it cut to this share would ask the same thing


@dataclass(frozen=True)
class Pick:
    """An item to ask about."""

    row: int  # in the pool
    score: float
    strategy: str
    explored: bool  # drawn at random, to keep the learner honest


@dataclass(frozen=True)
class Ask:
    """A question: so many items by this strategy; the same seed gives the same answer."""

    strategy: str
    count: int = 1
    seed: int = 0
    explore: float = 0.0
    wanted: tuple[int, ...] = ()  # class numbers of what is to be found
    spare: int = 0  # more candidates than are needed
    variance: VarianceName = "exact"  # that the score goes by

    def __post_init__(self) -> None:
        if self.strategy not in every_strategy():
            raise ValueError(f"strategy must be one of {', '.join(every_strategy())}; got {self.strategy!r}")
        check_whole("count", self.count)
        check_whole("seed", self.seed)
        check_share("explore", self.explore)
        if self.rule.wanted and not self.wanted:
            raise ValueError(f"strategy {self.strategy!r} needs to know which class is wanted")
        if self.variance != "exact" and not self.rule.bounded:
            able = ", ".join(name for name, rule in every_strategy().items() if rule.bounded)
            raise ValueError(
                f"variance {self.variance} is for the strategies {able}; {self.strategy} goes by the exact one"
            )

    @property
    def rule(self) -> Strategy:
        """The strategy by its name."""
        return every_strategy()[self.strategy]

    @property
    def n_candidates(self) -> int:
        """To be found by the first look."""
        if self.rule.shortlist is not None:
            return SHORTLIST + self.count + self.spare
        return max(CANDIDATES, PER_PICK * self.count) + self.spare

    @cached_property
    def explores(self) -> list[bool]:
        """Of each pick, whether it is drawn at random."""
        drawn_ones: list[bool] = (np.random.default_rng(self.seed).random(self.count) < self.explore).tolist()
        return drawn_ones


@dataclass(frozen=True, eq=False)
class Candidates:
    """Items that may be asked about: those of the lowest scores, and for exploration some drawn at random."""

    rows: Indices  # numbers in the pool
    scores: Floats
    mean: Floats  # rows x M
    variance: Floats
    doubt: Floats  # the variance that questions go by, which may be a bound

    def __len__(self) -> int:
        return len(self.rows)

    @classmethod
    def joined(cls, parts: "Sequence[Candidates]", ask: Ask) -> "Candidates":
        """Of all parts of a pool."""
        every = cls(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)))
        return every.take(_candidate_places(every.rows, every.scores, ask))

    def take(self, places: Indices) -> "Candidates":
        """Those at these places."""
        return Candidates(*(getattr(self, field.name)[places] for field in fields(self)))


def first_look(state: PoolState, ask: Ask, free: NDArray[np.bool_] | None = None, bound: float = np.inf) -> Candidates:
    """The candidates among the items of this state, or those that are free; none with a score above the bound."""
    scores, rows = ask.rule.first(state, ask.seed), state.rows
    among = scores <= bound
    places = np.flatnonzero(among if free is None else among & free)
    places = places[_candidate_places(rows[places], scores[places], ask)]
    return Candidates(rows[places], scores[places], state.mean[places], state.variance[places], state.doubt[places])


def pick(
    state: PoolState,
    strategy: str,
    count: int = 1,
    *,
    seed: int = 0,
    explore: float = 0.0,
    pending: Indices | None = None,
) -> list[Pick]:
    """The `count` items to ask about next; the same state and seed give the same answer.

    Items that were asked for and not answered (`pending`) and the picks so far count as answered with their mean: that
    changes variances only, and n questions at once do not ask the same thing. Each pick looks again at the best
    candidates of the first look, not at the pool.
    """
    ask = Ask(strategy, count, seed, explore, tuple(state.wanted.tolist()))
    waiting = np.asarray(pending if pending is not None else [], np.int64)
    state = replace(state, labelled=np.concatenate([state.labelled, waiting]))
    found = first_look(state, ask)
    order = np.argsort(state.rows, kind="stable")
    places = order[np.searchsorted(state.rows, found.rows, sorter=order)]
    return choose(state.take(places), found.scores, ask, waiting)


def choose(state: PoolState, scores: Floats, ask: Ask, waiting: Indices) -> list[Pick]:
    """Questions among candidates, whose state this is, with their first scores; what is waiting counts as labelled."""
    score, exploring = ask.rule, ask.explores
    best = _lowest(state.rows, scores, ask)
    batch = _Batch(state.take(best), score, drawn(ask.seed, TIES, state.rows[best]), max(1, AHEAD // ask.count))
    take = batch.close if score.alone else batch.condition
    take(waiting)
    explored = _explored(state.rows, ask) if any(exploring) else best
    free = np.ones(len(state), dtype=bool)
    picks: list[Pick] = []
    for explores in exploring[: len(state)]:
        if explores:
            place = int(next(place for place in explored if free[place]))
            value = float(scores[place])
        else:
            among, value = batch.best(ask.seed)
            place = int(best[among])
        free[place] = False
        row = int(state.rows[place])
        picks.append(Pick(row, value, ask.strategy, explores))
        if len(picks) < ask.count:
            take(np.array([row]))
    return picks


def _candidate_places(rows: Indices, scores: Floats, ask: Ask) -> Indices:
    """Places of the candidates, in the order of their numbers."""
    best = _lowest(rows, scores, ask)
    return np.unique(np.concatenate([best, _explored(rows, ask)])) if any(ask.explores) else np.sort(best)


def _lowest(rows: Indices, scores: Floats, ask: Ask) -> Indices:
    """Places of the lowest scores, ascending, equal ones by a draw; the rest of the pool is not sorted."""
    maybe = _among_lowest(scores, ask.n_candidates)
    ties = drawn(ask.seed, TIES, rows[maybe])
    return np.asarray(maybe[np.lexsort((ties, scores[maybe]))[: ask.n_candidates]])


def _among_lowest(scores: Floats, count: int) -> Indices:
    """Places of the `count` lowest scores and of all that equal the last of them, ascending.

    Where so many groups of items have a score at or below a bound, no other item can be among them.
    """
    maybe, groups = np.arange(len(scores)), len(scores) // GROUP
    if count < groups:
        lowest = np.fmin.reduce(scores[: groups * GROUP].reshape(groups, GROUP), axis=1)
        maybe = np.flatnonzero(scores <= np.partition(lowest, count - 1)[count - 1])
    if count < len(maybe):
        some = scores[maybe]
        maybe = maybe[some <= np.partition(some, count - 1)[count - 1]]
    return maybe


def _explored(rows: Indices, ask: Ask) -> Indices:
    """Places of items drawn at random, one for each question."""
    numbers = drawn(ask.seed, EXPLORED, rows)
    some = _among_lowest(numbers, ask.count)
    return np.asarray(some[np.argsort(numbers[some], kind="stable")[: ask.count]])


class _Batch:
    """Candidates, conditioned on what is asked: a Cholesky factor that grows by a block of rows."""

    def __init__(self, state: PoolState, score: Strategy, ties: Floats, again: int) -> None:
        self._state = state if score.shortlist is None else state.looking()
        self._score = score
        self._values: Floats | None = None  # the last ones
        self._again = again  # how many are scored again for a pick, where that takes long
        self._before = state.variance
        self._ties = ties
        self._free = np.ones(len(state), dtype=bool)
        self._asked = np.empty(0, dtype=np.int64)
        self._factor = np.zeros((0, 0))  # of the covariance of what is asked, with noise
        self._halves = np.zeros((0, len(state)))  # L^-1 times its covariance with the candidates

    def condition(self, rows: Indices) -> None:
        """Take items as answered with their means: variances fall, means stay."""
        if not len(rows):
            return
        self.close(rows)
        state, m, n, k = self._state, len(self._state), len(self._asked), len(rows)
        covariance = state.covariance(np.concatenate([state.rows, self._asked, rows]), rows)
        candidates, asked, own = np.split(covariance, [m, m + n])
        half = solve_triangular(self._factor, asked, lower=True) if n else asked
        corner = _factor(own - half.T @ half, state.noise)
        new = solve_triangular(corner, candidates.T - half.T @ self._halves, lower=True)
        self._factor = np.block([[self._factor, np.zeros((n, k))], [half.T, corner]])
        self._halves = np.vstack([self._halves, new])
        self._asked = np.append(self._asked, rows)
        self._state = state.asked(rows, np.maximum(state.variance - (new**2).sum(axis=0), 0.0))

    def close(self, rows: Indices) -> None:
        """Do not ask about items again, which tell nothing of the others."""
        self._free &= ~np.isin(self._state.rows, rows)

    def best(self, seed: int) -> tuple[int, float]:
        """Place and score of the best candidate that is still a question; there are more than are asked for."""
        open_ = self._free & (self._state.variance > ANSWERED * self._before)
        open_ = open_ if open_.any() else self._free
        values, among = self._scores(open_, seed)
        order = among[np.lexsort((self._ties[among], values[among], ~open_[among]))]
        return int(order[0]), float(values[order[0]])

    def _scores(self, open_: NDArray[np.bool_], seed: int) -> tuple[Floats, Indices]:
        """Scores of the candidates, and those that are up to date: the ones that were best before, if that is dear."""
        among = np.arange(len(self._state))
        if self._values is None or self._score.shortlist is None:
            self._values = self._score(self._state, seed)
        else:
            among = np.lexsort((self._ties, self._values, ~open_))[: self._again]
            self._values[among] = self._score(self._state.take(among), seed)
        return self._values, among


def _factor(covariance: Floats, noise: float) -> Floats:
    """L with L L^T = covariance + noise, where rounding may have taken some of the covariance away."""
    a = covariance.copy()
    np.fill_diagonal(a, np.maximum(a.diagonal(), 0.0) + noise)
    try:
        return np.asarray(np.linalg.cholesky(a))
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(a)
        _, upper = np.linalg.qr((vectors * np.sqrt(np.maximum(values, noise))).T)
        return np.ascontiguousarray(upper.T)
