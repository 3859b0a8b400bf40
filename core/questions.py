"""Which items to ask about next, over a labelled pool."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core._types import Floats, Indices
from core.checks import check_numbers
from core.forest import ForestPool, LabelledForest
from core.posterior import LabelledPool, taken
from core.posterior.parts import for_items
from core.queries import Ask, Candidates, FirstLook, Near, Pick, PoolState, SoftmaxPool, choose, pick
from core.softmax import LabelledSoftmax

AnyPool = LabelledPool | LabelledSoftmax | LabelledForest

REFERENCE_ROWS = 256  # of the pool, for strategies that look at it as a whole


def ask(
    labelled: AnyPool,
    count: int,
    strategy: str,
    *,
    seed: int = 0,
    explore: float = 0.0,
    pending: Indices | None = None,
    among: Indices | None = None,
) -> list[Pick]:
    """As `OnlineLearner.query` says."""
    asked = Ask(strategy, count, seed, explore)
    waiting = np.setdiff1d(_numbers("pending", pending, len(labelled)), labelled.learnt)
    free = np.ones(len(labelled), dtype=bool)
    if among is not None:
        free[:] = False
        free[_numbers("among", among, len(labelled))] = True
    free[labelled.learnt] = False
    free[waiting] = False
    if not free.any():
        return []
    if len(np.unique(labelled.numbers)) < 2 and strategy != "random":
        asked = replace(asked, strategy="herding")
    if isinstance(labelled, LabelledPool):
        return _ask_parts(labelled, asked, free, waiting)
    state = pool_state(labelled, np.flatnonzero(free))
    return pick(state, asked.strategy, count, seed=seed, explore=explore, pending=waiting)


def pool_state(labelled: AnyPool, items: Indices) -> PoolState:
    """What strategies look at, for these items."""
    state: Callable[..., PoolState] = SoftmaxPool if isinstance(labelled, LabelledSoftmax) else PoolState
    if labelled.votes is not None:
        state = partial(ForestPool, shares=labelled.votes.probabilities)
    return state(
        labelled.mean[items],
        labelled.variance[items],
        labelled.noise,
        items,
        labelled.covariance,
        labelled.kernel,
        reference_of(len(labelled)),
        np.array(labelled.learnt, dtype=np.int64),
    )


def reference_of(n: int) -> Indices:
    """A sample of n items that stands for all of them."""
    return np.unique(np.linspace(0, n - 1, REFERENCE_ROWS).astype(np.int64))


def _ask_parts(labelled: LabelledPool, ask: Ask, free: NDArray[np.bool_], waiting: Indices) -> list[Pick]:
    """A map over the parts of the pool, then questions among the candidates of all."""
    answered = np.concatenate([np.array(labelled.learnt, dtype=np.int64), waiting])
    reference = reference_of(len(labelled)) if ask.strategy in ("emoc", "density", "herding") else waiting[:0]
    near = _near(labelled, ask.strategy, reference, answered)
    looks = labelled.parts.collect(FirstLook(ask, labelled.noise, near), along=free)
    found = Candidates.joined(looks, ask)
    seen = answered if ask.strategy == "herding" else waiting
    few = _Few(labelled, np.unique(np.concatenate([found.rows, reference, seen])))
    state = PoolState(
        found.mean, found.variance, labelled.noise, found.rows, few.covariance, few.kernel, reference, answered
    )
    return choose(state, found.scores, ask, waiting)


def _near(labelled: LabelledPool, strategy: str, reference: Indices, answered: Indices) -> Near:
    if strategy == "emoc":
        return Near(covariance=for_items(labelled.covariance_with(labelled.rows(reference))))
    if strategy not in ("density", "herding"):
        return Near()
    rows = labelled.rows(reference)
    likeness = labelled.kernel_with(rows)
    covered = None
    if strategy == "herding" and len(answered):
        covered = labelled.kernel_with(labelled.rows(answered))(rows).max(axis=1)
    return Near(kernel=for_items(likeness), covered=covered)


@dataclass(eq=False)
class _Few:
    """A few items of a pool: their rows are fetched once, and only if somebody asks."""

    labelled: LabelledPool
    items: Indices  # ascending

    @cached_property
    def _rows(self) -> Any:
        return self.labelled.rows(self.items)

    def covariance(self, rows: Indices, columns: Indices) -> Floats:
        """Posterior covariance, rows x columns."""
        return self.labelled.covariance_with(self._taken(columns))(self._taken(rows))

    def kernel(self, rows: Indices, columns: Indices) -> Floats:
        """Prior covariance, rows x columns."""
        return self.labelled.kernel_with(self._taken(columns))(self._taken(rows))

    def _taken(self, items: Indices) -> Any:
        return taken(self._rows, np.searchsorted(self.items, items))


def _numbers(what: str, items: Indices | None, n: int) -> Indices:
    return check_numbers(f"{what} items", [] if items is None else items, n)
