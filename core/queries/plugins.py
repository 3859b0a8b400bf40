"""Query strategies of other packages: entry points in the group asknext.strategies."""

from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import numpy as np

from core._types import Floats
from core.drafts import read_only
from core.models.state import PoolState
from core.queries.strategies import STRATEGIES, Score, Strategy

GROUP = "asknext.strategies"


@cache
def every_strategy() -> dict[str, Strategy]:
    """Those of this package, then what other packages have: read once, the names of this package are taken."""
    found = dict(STRATEGIES)
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        found.setdefault(entry.name, loaded(entry))
    return found


def loaded(entry: EntryPoint) -> Strategy:
    """The strategy of an entry point: a Strategy, or a score alone. What cannot be loaded raises when it is used."""
    try:
        given = entry.load()
    except Exception as error:  # whatever the other package does
        return Strategy(_Broken(entry.name, f"{type(error).__name__}: {error}"))
    if isinstance(given, Strategy):
        return replace(given, score=_Checked(entry.name, given.score))
    return Strategy(_Checked(entry.name, given) if callable(given) else _Broken(entry.name, f"it is {given!r}"))


@dataclass(frozen=True)
class _Checked:
    """The score of another package, which may change nothing and must give a number for each item."""

    name: str
    score: Score

    def __call__(self, state: PoolState, seed: int) -> Floats:
        safe = replace(state, mean=read_only(state.mean), variance=read_only(state.variance))
        return checked_scores(self.name, self.score(safe, seed), len(state))


@dataclass(frozen=True)
class _Broken:
    name: str
    reason: str

    def __call__(self, _: PoolState, __: int) -> Floats:
        raise ValueError(f"strategy {self.name!r} could not be loaded: {self.reason}")


def checked_scores(name: str, scores: Any, count: int) -> Floats:
    """Scores as numbers, one for each item; a ValueError for anything else."""
    try:
        found = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"strategy {name!r} must give an array of numbers; got {scores!r:.200}") from error
    if found.shape != (count,):
        raise ValueError(f"strategy {name!r} must give {count} scores, one for each item; their shape is {found.shape}")
    if not np.isfinite(found).all():
        raise ValueError(f"strategy {name!r} must give finite scores; {int((~np.isfinite(found)).sum())} are not")
    return found
