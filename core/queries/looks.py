"""What a first look at a pool has found, for all who ask before the pool changes."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from weakref import ReferenceType, ref

import numpy as np
from numpy.typing import NDArray

from core.posterior import Parts
from core.queries.parts import FirstLook, Near
from core.queries.picking import SPARE, Ask, Candidates

MANY = 2  # a question about fewer than one in so many items looks at these alone

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class _Look:
    """The best of all items without a label, by scores that depend on the model alone."""

    parts: ReferenceType[Parts]
    by: tuple[Any, ...]  # what the scores depend on besides the parts
    seen: Mask  # what was looked at
    found: Candidates  # with scores below all others'

    def serves(self, parts: Parts, by: tuple[Any, ...], free: Mask) -> bool:
        """Whether it is of this pool as it is now, and saw all of these items."""
        return self.parts() is parts and self.by == by and not (free & ~self.seen).any()


class Looks:
    """Looks at a pool for questions; the last look serves until the pool changes.

    Many people who ask at the same time, or one who asks for a number of items, cost one look at the pool. What they
    are answered is the same as if each had looked, since those who may not be asked about an item leave it out.
    """

    def __init__(self) -> None:
        self._last: _Look | None = None

    def __reduce__(self) -> "tuple[type[Looks], tuple[()]]":
        return Looks, ()

    def candidates(
        self, parts: Parts, ask: Ask, noise: float, near: Callable[[], Near], unlabelled: Mask, free: Mask
    ) -> Candidates:
        """The candidates among free items."""
        rule = ask.rule.first
        if not rule.lasts or any(ask.explores):
            return _looked(parts, ask, noise, near, free)
        by, last = (rule.score, noise, ask.wanted, ask.variance), self._last
        known = last.found if last is not None and last.serves(parts, by, free) else None
        count = int(np.count_nonzero(unlabelled))
        if known is None and MANY * np.count_nonzero(free) > count:
            wide = replace(ask, explore=0.0, spare=SPARE)
            known = _below_others(_looked(parts, wide, noise, near, unlabelled), count)
            self._last = _Look(ref(parts), by, unlabelled, known)
        if known is not None:
            places = np.flatnonzero(free[known.rows])
            if len(places) >= ask.n_candidates:
                return Candidates.joined([known.take(places)], ask)
        return _looked(parts, ask, noise, near, free)


def _looked(parts: Parts, ask: Ask, noise: float, near: Callable[[], Near], free: Mask) -> Candidates:
    return Candidates.joined(parts.collect(FirstLook(ask, noise, near()), along=free), ask)


def _below_others(found: Candidates, count: int) -> Candidates:
    """Candidates of so many items without those that others may equal, which were left out by a draw."""
    if len(found.rows) == count:
        return found
    return found.take(np.flatnonzero(found.scores < found.scores.max()))
