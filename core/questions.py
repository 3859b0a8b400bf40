"""Which items to ask about next, over a labelled pool."""

from collections.abc import Callable
from functools import partial

import numpy as np

from core._types import Indices
from core.forest import ForestPool, LabelledForest
from core.posterior import LabelledPool
from core.queries import STRATEGIES, Pick, PoolState, SoftmaxPool, pick
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
    check_strategy(strategy)
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
        strategy = "herding"
    state = pool_state(labelled, np.flatnonzero(free))
    return pick(state, strategy, count, seed=seed, explore=explore, pending=waiting)


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
        np.unique(np.linspace(0, len(labelled) - 1, REFERENCE_ROWS).astype(np.int64)),
        np.array(labelled.learnt, dtype=np.int64),
    )


def check_strategy(strategy: str) -> None:
    """Raise a ValueError that names the strategies there are."""
    if strategy not in STRATEGIES:
        raise ValueError(f"strategy must be one of {', '.join(STRATEGIES)}; got {strategy!r}")


def _numbers(what: str, items: Indices | None, n: int) -> Indices:
    numbers = np.asarray(items if items is not None else [], dtype=np.int64)
    if len(numbers) and not 0 <= numbers.min() <= numbers.max() < n:
        raise ValueError(f"{what} items must be numbers from 0 to {n - 1}")
    return numbers
