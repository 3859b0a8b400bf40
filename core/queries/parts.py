"""The first look at a pool in parts: a map over the parts, and the best of all of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core._parallel import over_slices
from core._types import Floats, Indices
from core.linalg import Predictor
from core.models.state import PoolState
from core.posterior import Part
from core.posterior.base import Variances
from core.posterior.parts import Block
from core.queries.picking import Ask, Candidates, first_look

LOOK_ROWS = 1 << 15  # items at a time, whose scores stay in the cache
MANY = 2  # a block of which one in so many items is free is scored as a whole


@dataclass(frozen=True, eq=False)
class Near:
    """What strategies that look at the pool as a whole have to know of its reference; others do without."""

    covariance: Predictor | None = None  # x -> posterior covariance with each item of the reference
    kernel: Predictor | None = None  # x -> prior covariance with each of them
    covered: Floats | None = None  # how much each is like a labelled item
    doubts: Floats | None = None  # how uncertain each is
    bound: Variances | None = None  # of the variance of rows, where questions go by it
    prior: Variances | None = None  # of rows


@dataclass(frozen=True, eq=False)
class PartState(PoolState):
    """The state of items of a part, which cannot see the others."""

    query: Any  # the items' rows
    near: Near

    @property
    def to_reference(self) -> Floats:
        """Posterior covariance with the reference, m x R."""
        assert self.near.covariance is not None
        return self.near.covariance(self.query)

    @property
    def likeness(self) -> Floats:
        """Prior covariance with the reference, m x R."""
        assert self.near.kernel is not None
        return self.near.kernel(self.query)

    @property
    def covered(self) -> Floats | None:
        """How much each item of the reference is like a labelled one, R."""
        return self.near.covered

    @property
    def doubts(self) -> Floats:
        """The probability that the predicted class of each item of the reference is wrong, R."""
        assert self.near.doubts is not None
        return self.near.doubts

    @property
    def prior(self) -> Floats:
        """k(x, x) less the bias, m."""
        assert self.near.prior is not None
        return self.near.prior(self.query)


@dataclass(frozen=True, eq=False)
class FirstLook:
    """A look at a part: the candidates among its items that are free."""

    ask: Ask
    noise: float
    near: Near

    def __call__(self, first: int, part: Part, free: NDArray[np.bool_]) -> Candidates:
        """Block by block."""
        blocks = list(part.blocks(first, LOOK_ROWS))
        found: list[Candidates] = [_none(part)] * len(blocks)

        def look(lo: int, hi: int) -> None:
            found[lo] = self._best(
                blocks[lo:hi], [free[i - first : i - first + len(some)] for i, some in blocks[lo:hi]]
            )

        over_slices(look, len(blocks), float(part.mean.size + len(part)))
        return Candidates.joined(found, self.ask)

    def _best(self, blocks: Sequence[Block], masks: Sequence[NDArray[np.bool_]]) -> Candidates:
        """The candidates of some blocks; once there are enough, only what is better than the last of them."""
        kept, bound, enough = [_none(blocks[0].part)], np.inf, self.ask.n_candidates
        for (start, block), free in zip(blocks, masks, strict=True):
            count = int(np.count_nonzero(free))
            if MANY * count > len(block):  # scoring some for nothing costs less than copying the others
                kept.append(first_look(self._state(start + np.arange(len(block)), block), self.ask, free, bound))
            elif count:
                places = np.flatnonzero(free)
                kept.append(first_look(self._state(start + places, block.take(places)), self.ask, bound=bound))
            if sum(map(len, kept)) > 2 * enough and not any(self.ask.explores):
                kept = [Candidates.joined(kept, self.ask)]
                bound = float(kept[0].scores.max())
        return Candidates.joined(kept, self.ask)

    def _state(self, items: Indices, part: Part) -> PartState:
        nothing = items[:0]
        return PartState(
            part.mean,
            part.variance,
            self.noise,
            items,
            _far,
            _far,
            nothing,
            nothing,
            part.rows,
            self.near,
            wanted=np.array(self.ask.wanted, dtype=np.int64),
            bounds=None if self.near.bound is None else self.near.bound(part.rows),
        )


def _none(part: Part) -> Candidates:
    nothing = part.variance[:0]
    return Candidates(np.empty(0, dtype=np.int64), np.empty(0), part.mean[:0], nothing, nothing)


def _far(_: Indices, __: Indices) -> Floats:
    raise AssertionError("a part knows nothing of other items")
