"""Projects that are to find all items of one class: what was found, and how the next items are chosen."""

import hashlib

import numpy as np

from app.services.project.class_book import ClassBook
from app.services.project.settings import ProjectSettings
from app.services.project.state import Project
from core._types import Indices
from core.insight.finding import Search, StopRule
from core.queries.draws import RANDOM, drawn


def rule_of(settings: ProjectSettings) -> StopRule:
    """When the search of a project is over."""
    return StopRule(settings.target_recall, settings.risk, settings.patience)


def check_search(settings: ProjectSettings, classes: ClassBook) -> None:
    """Raise a ValueError unless there is a class to be found where one is needed."""
    if settings.goal != "find":
        if settings.strategy == "likely":
            raise ValueError("strategy: likely needs the goal find, and the class that is wanted")
        return
    if settings.wanted is None:
        raise ValueError("wanted: the goal find needs the name of the class that is to be found")
    if classes.number(settings.wanted) is None:
        known = ", ".join(repr(name) for name in classes.active()[:20])
        raise ValueError(f"wanted: there is no class of this name to be found; there are {known or 'none yet'}")


def is_sampling(project: Project) -> bool:
    """Whether items are drawn at random now, because the search has run dry or a lead wants to know what is left."""
    mode = project.settings.search
    return idle(project) >= project.settings.patience if mode == "auto" else mode == "random"


def idle(project: Project) -> int:
    """Labels that were asked for since the last wanted item, counted up to where the patience ends.

    Those that a file brought, or of items that somebody chose, say nothing about a search. New items begin a new one.
    """
    count = 0
    for item, first in reversed(project.ledger.firsts.items()):
        label = project.agreed_class(item)
        if label is not None:
            if project.is_wanted(label) or first.created_at < project.grown_at or count >= project.settings.patience:
                break
            count += first.asked
    return count


def sample(project: Project, free: Indices, count: int) -> Indices:
    """The next items of a random sample: the order is drawn once for the whole project, and does not change."""
    return free[np.argsort(_lots(project, free), kind="stable")[:count]]


def search_of(project: Project) -> Search:
    """The labels of a project in their order, and which of them were drawn at random for sure.

    Draws count up to the first item of the sample that nobody has answered: so it does not matter that some labels take
    longer than others. New items bring a new search: what was drawn before them says nothing about them.
    """
    numbers = np.arange(len(project.keys))
    answered = [item for item, answers in project.ledger.standings.items() if answers]
    lots = _lots(project, numbers)
    open_ = np.delete(lots, answered)
    end = open_.min() if len(open_) else np.inf
    wanted, drawn = [], []
    for item, first in project.ledger.firsts.items():
        label = project.agreed_class(item)
        if label is not None:
            wanted.append(project.is_wanted(label))
            drawn.append(first.drawn and lots[item] < end and first.created_at >= project.grown_at)
    return Search(np.array(wanted, dtype=bool), np.array(drawn, dtype=bool), len(project.keys))


def _lots(project: Project, items: Indices) -> np.ndarray:
    seed = int.from_bytes(hashlib.blake2b(project.id.encode(), digest_size=6).digest())
    return drawn(seed, RANDOM, items)
