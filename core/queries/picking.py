"""From scores to questions: one picker for all strategies."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import solve_triangular

from core._types import Floats, Indices
from core.queries.scores import STRATEGIES, Score
from core.queries.state import PoolState

CANDIDATES = 256  # looked at again for each pick of a batch
PER_PICK = 8
ANSWERED = 0.5  # an item whose variance the picks before it cut to this share would ask the same thing


@dataclass(frozen=True)
class Pick:
    """An item to ask about."""

    row: int  # in the pool
    score: float
    strategy: str
    explored: bool  # drawn at random, to keep the learner honest


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
    if strategy not in STRATEGIES:
        raise ValueError(f"strategy must be one of {', '.join(STRATEGIES)}; got {strategy!r}")
    rng = np.random.default_rng(seed)
    score = STRATEGIES[strategy]
    waiting = np.asarray(pending if pending is not None else [], dtype=np.int64)
    state = replace(state, labelled=np.concatenate([state.labelled, waiting]))
    ties = rng.random(len(state))
    first = score(state, rng)
    places = _lowest(first, ties, max(CANDIDATES, PER_PICK * count))
    batch = _Batch(state.take(places), ties[places])
    batch.condition(waiting)
    picks: list[Pick] = []
    free = np.ones(len(state), dtype=bool)
    while len(picks) < min(count, len(state)):
        if rng.random() < explore:
            place = int(rng.choice(np.flatnonzero(free)))
            value, explored = float(first[place]), True
        elif (best := batch.best(score, rng)) is not None:
            place, value, explored = int(places[best[0]]), best[1], False
        else:
            place = int(np.lexsort((ties, first, ~free))[0])
            value, explored = float(first[place]), False
        free[place] = False
        row = int(state.rows[place])
        picks.append(Pick(row, value, strategy, explored))
        if len(picks) < count:
            batch.condition(np.array([row]))
    return picks


def _lowest(scores: Floats, ties: Floats, count: int) -> Indices:
    """Places of the lowest scores, ascending, equal ones by their ties; the rest of the pool is not sorted."""
    if count < len(scores):
        maybe = np.flatnonzero(scores <= np.partition(scores, count - 1)[count - 1])
    else:
        maybe = np.arange(len(scores))
    return np.asarray(maybe[np.lexsort((ties[maybe], scores[maybe]))[:count]])


class _Batch:
    """Candidates, conditioned on what is asked: a Cholesky factor that grows by a row per question."""

    def __init__(self, state: PoolState, ties: Floats) -> None:
        self._state = state
        self._before = state.variance
        self._ties = ties
        self._free = np.ones(len(state), dtype=bool)
        self._asked = np.empty(0, dtype=np.int64)
        self._factor = np.zeros((0, 0))  # of the covariance of what is asked, with noise
        self._halves = np.zeros((0, len(state)))  # L^-1 times its covariance with the candidates

    def condition(self, rows: Indices) -> None:
        """Take items as answered with their means: variances fall, means stay."""
        if len(rows):
            self._free &= ~np.isin(self._state.rows, rows)
            columns = self._state.covariance(np.concatenate([self._state.rows, self._asked, rows]), rows)
            for j, row in enumerate(rows):
                self._add(int(row), columns[: len(columns) - len(rows) + j + 1, j])

    def _add(self, row: int, column: Floats) -> None:
        """One item, by its covariance with the candidates, the items asked so far, and itself."""
        state, n = self._state, len(self._asked)
        self._asked = np.append(self._asked, row)
        candidates, asked, own = column[: len(state)], column[len(state) : -1], column[-1]
        half = solve_triangular(self._factor, asked, lower=True) if n else asked
        pivot = np.sqrt(max(own + state.noise - half @ half, state.noise))
        self._factor = np.block([[self._factor, np.zeros((n, 1))], [half[None], np.array([[pivot]])]])
        new = (candidates - half @ self._halves) / pivot
        self._halves = np.vstack([self._halves, new])
        self._state = state.asked(row, np.maximum(state.variance - new**2, 0.0))

    def best(self, score: Score, rng: np.random.Generator) -> tuple[int, float] | None:
        """Place and score of the best candidate that is still a question, or None."""
        open_ = self._free & (self._state.variance > ANSWERED * self._before)
        open_ = open_ if open_.any() else self._free
        if not open_.any():
            return None
        values = score(self._state, rng)
        order = np.lexsort((self._ties, values, ~open_))
        return int(order[0]), float(values[order[0]])
