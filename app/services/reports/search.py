"""How far a search has come: what was found, what is left, and whether it is safe to stop, in words."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from app.services.problems import Conflict
from app.services.project.search import idle, is_sampling, rule_of, search_of
from app.services.project.state import Project
from app.services.runtime.writer import Task
from core import Published
from core.insight.finding import Search, StopRule, expected_left
from core.probabilities import log_odds


@dataclass(frozen=True, eq=False)
class SearchStatus:
    """A search between two turns of the writer."""

    wanted: str
    search: Search
    rule: StopRule
    idle: int
    is_sampling: bool
    model: Published | None


@dataclass
class TakeSearch(Task):
    """The search as it stands."""

    project: Project

    def respond(self) -> None:
        """All from one state."""
        project = self.project
        if project.wanted is None:
            raise Conflict("this project tells classes apart: set the goal find, and the class that is wanted")
        self.answer = SearchStatus(
            project.wanted,
            search_of(project),
            rule_of(project.settings),
            idle(project),
            is_sampling(project),
            project.view.model,
        )


def describe_search(status: SearchStatus) -> dict[str, Any]:
    """A search as users see it."""
    search, rule = status.search, status.rule
    left = _expected_left(status)
    draws = None if rule.is_met(search) else search.draws_needed(rule.target, rule.risk)
    return {
        "wanted": status.wanted,
        "found": search.found,
        "labelled": len(search.wanted),
        "left": search.left,
        "drawn": int(search.drawn.sum()),
        "idle": status.idle,
        "expected_left": left,
        "lowest_recall": search.lowest_recall(rule.risk),
        "draws_needed": draws,
        "sampling": status.is_sampling,
        "stop": draws is None,
        "sentence": _sentence(status, left, draws),
        "curve": [{"labels": labels, "found": found} for labels, found in search.curve],
        "rule": asdict(rule),
    }


def _expected_left(status: SearchStatus) -> float | None:
    """By the model; None before it can tell classes apart."""
    model = status.model
    if model is None or not model.tells_classes_apart or status.wanted not in model.nodes.given:
        return None
    columns, free, left_out = model.nodes.below(status.wanted), np.flatnonzero(model.labels < 0), model.left_out
    wanted = model.nodes.covers(status.wanted, left_out.labels)
    return expected_left(
        log_odds(left_out.means, columns),
        wanted,
        log_odds(model.moments(free)[0], columns) if len(free) else np.empty(0),
    )


def _sentence(status: SearchStatus, left: float | None, draws: int | None) -> str:
    """Whether to go on, for whoever leads the search."""
    search, rule = status.search, status.rule
    found = f"{search.found:,} found"
    if search.left == 0:
        return f"Done: all items are labelled, {found}."
    sure = f"{100 * (1 - rule.risk):.3g} %"
    if draws is None:
        share = f"{100 * rule.target:.3g} %"
        return f"You can stop: {found}, which are at least {share} of all there are; that is {sure} sure."
    if status.is_sampling:
        return f"Keep labelling: {found}. If none of the next {draws:,} items drawn at random is wanted, you can stop."
    more = "" if left is None else f", and the model expects about {max(round(left), 0):,} more"
    return f"Keep labelling: {found}{more}. The most likely items come first."
