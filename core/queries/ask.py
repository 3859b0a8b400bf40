"""Which items to ask about next, over a model of the pool."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core._types import Floats, Indices
from core.checks import check_numbers
from core.models.base import PartsModel, PoolModel
from core.models.look_ahead import class_probabilities
from core.models.state import PoolState
from core.posterior.base import Variances
from core.probabilities import error_probabilities
from core.queries.looks import Looks
from core.queries.parts import Near
from core.queries.picking import Ask, Pick, choose, pick
from core.queries.strategies import Strategy
from core.variance import VarianceName

REFERENCE_ROWS = 256  # size of the sample that stands for the pool (emoc, density, herding)


def ask(
    model: PoolModel,
    count: int,
    strategy: str,
    *,
    seed: int = 0,
    explore: float = 0.0,
    pending: Indices | None = None,
    among: Indices | None = None,
    wanted: tuple[int, ...] = (),
    costs: Floats | None = None,
    variance: VarianceName = "exact",
    one_class: bool = False,
    looks: Looks | None = None,
) -> list[Pick]:
    """Choose `count` items, as `OnlineLearner.query` documents; `wanted` are numbers of classes, and `costs` are M x M.

    `looks` remembers what was found for the question before.
    Until two classes have labels, or a wanted one where that is what counts, all but random are replaced by herding;
    where there is no more than `one_class`, by novelty once it has labels, unless they mean something for one class.
    """
    asked = Ask(strategy, count, seed, explore, wanted, variance=variance)
    waiting = np.setdiff1d(_numbers("pending", pending, len(model)), model.labelled_items)
    unlabelled = np.ones(len(model), dtype=bool)
    unlabelled[model.labelled_items] = False
    free = unlabelled.copy()
    if among is not None:
        free[:] = False
        free[_numbers("among", among, len(model))] = True
        free &= unlabelled
    free[waiting] = False
    if not free.any():
        return []
    known_one = asked.rule.wanted and np.isin(model.numbers, wanted).any()
    if len(np.unique(model.numbers)) < 2 and strategy != "random" and not known_one:
        if not (one_class and len(model.numbers)):
            asked = replace(asked, strategy="herding", variance="exact")
        elif not asked.rule.one_class:
            asked = replace(asked, strategy="novelty", variance="exact")
    bound = model.variance_by(asked.variance) if asked.variance != "exact" else None
    if model.over_parts is not None:
        return _ask_parts(model.over_parts, asked, looks or Looks(), unlabelled, free, waiting, costs, bound)
    state = model.state(np.flatnonzero(free), reference_of(len(model)))
    state = replace(state, wanted=np.array(wanted, dtype=np.int64), costs=costs)
    if bound is not None:
        state = replace(state, bounds=bound(model.rows(state.rows)))
    return pick(state, asked.strategy, count, seed=seed, explore=explore, pending=waiting)


def reference_of(n: int) -> Indices:
    """At most 256 item numbers, spread evenly over a pool of n."""
    return np.unique(np.linspace(0, n - 1, REFERENCE_ROWS).astype(np.int64))


def _ask_parts(
    model: PartsModel,
    ask: Ask,
    looks: Looks,
    unlabelled: NDArray[np.bool_],
    free: NDArray[np.bool_],
    waiting: Indices,
    costs: Floats | None,
    bound: Variances | None,
) -> list[Pick]:
    """Each part proposes candidates; the picks are chosen among all of them."""
    strategy = ask.rule
    known = np.concatenate([np.array(model.labelled_items, dtype=np.int64), waiting])  # labelled, or asked about
    reference = reference_of(len(model)) if strategy.reference else waiting[:0]

    def near() -> Near:
        return replace(_near(model, strategy.first, reference, known), bound=bound)

    found = looks.candidates(model.parts, ask, model.noise, near, unlabelled, free)
    needed = known if strategy.covered else waiting
    subset = _Subset(model, np.unique(np.concatenate([found.rows, reference, needed])))
    state = PoolState(
        found.mean,
        found.variance,
        model.noise,
        found.rows,
        subset.covariance,
        subset.kernel,
        reference,
        known,
        wanted=np.array(ask.wanted, dtype=np.int64),
        costs=costs,
        around=model.around(reference) if strategy.reference else None,
        bounds=None if bound is None else found.doubt,
        own=subset.own,
    )
    return choose(state, found.scores, ask, waiting)


def _near(model: PartsModel, strategy: Strategy, reference: Indices, known: Indices) -> Near:
    """What a strategy needs of the reference and of priors, as functions that parts can be given."""
    if strategy.reference is None:
        return Near(prior=model.prior.for_items() if strategy.prior else None)
    rows = model.rows(reference)
    covered = None
    if strategy.covered and len(known):
        covered = model.kernel_with(model.rows(known))(rows).max(axis=1)
    doubts = error_probabilities(class_probabilities(model.around(reference), "gaussian")) if strategy.doubts else None
    if strategy.reference == "covariance":
        return Near(covariance=model.covariance_with(rows).for_items(), covered=covered, doubts=doubts)
    return Near(kernel=model.kernel_with(rows).for_items(), covered=covered, doubts=doubts)


@dataclass(eq=False)
class _Subset:
    """A few items of a pool: their rows are fetched once, and only if somebody asks."""

    model: PartsModel
    items: Indices  # ascending

    @cached_property
    def _rows(self) -> Any:
        return self.model.rows(self.items)

    def covariance(self, rows: Indices, columns: Indices) -> Floats:
        """Posterior covariance, rows x columns."""
        return self.model.covariance_with(self._encoded(columns))(self._encoded(rows))

    def kernel(self, rows: Indices, columns: Indices) -> Floats:
        """Prior covariance, rows x columns."""
        return self.model.kernel_with(self._encoded(columns))(self._encoded(rows))

    def own(self, rows: Indices) -> Floats:
        """Prior variance of items less the bias."""
        return self.model.prior(self._encoded(rows))

    def _encoded(self, items: Indices) -> Any:
        return self._rows[np.searchsorted(self.items, items)]


def _numbers(what: str, items: Indices | None, n: int) -> Indices:
    return check_numbers(f"{what} items", [] if items is None else items, n)
