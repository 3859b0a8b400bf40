"""Questions: which items a person gets next, for which reason, and the leases on them."""

import logging
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from app.db import items, leases
from app.services.problems import Invalid, NotFound
from app.services.project import search
from app.services.project.leases import Lease
from app.services.project.state import Project
from app.services.runtime.clock import now
from app.services.runtime.ids import new_id
from app.services.runtime.writer import Task
from core import OnlineLearner
from core._types import no_rows
from core.insight.accuracy import Draws, is_near
from core.queries import STRATEGIES, Pick
from core.queries.draws import NEAR_SHARE, random_share
from core.queries.plugins import every_strategy
from core.variance import VarianceName

log = logging.getLogger(__name__)

DRAWS = 500  # that the share of the next ones depends on

Filter = dict[str, str | int | float | bool]

MOST_PAIRS = 10_000_000  # of items and labels, whose kernel values a question by fapu computes: a quarter of a second


@dataclass(frozen=True)
class Ask:
    """What somebody asks for; None stands for the project's setting."""

    count: int = 1
    strategy: str | None = None
    explore: float | None = None
    seed: int | None = None
    resume: bool = False  # first of all what this person holds already
    among: frozenset[int] | None = None  # only these items
    variance: VarianceName | None = None
    skipped_until: int = 0  # also what this person skipped up to this event


@dataclass
class LeasingTask(Task):
    """A task that answers with items for a person: their leases are saved with the answer."""

    project: Project
    annotator: str
    questions: "list[Question]" = field(default_factory=list, init=False)

    @property
    def goes_ahead(self) -> bool:
        """Only labels are learnt."""
        return True

    @property
    def saves_answer(self) -> bool:
        """An empty hand needs no lease."""
        return bool(self.questions)

    def save_answer(self, connection: Connection) -> None:
        """Write the leases."""
        write_leases(connection, self.project, self.questions)


@dataclass
class AskTask(LeasingTask):
    """Items with a lease each."""

    ask: Ask

    def respond(self) -> None:
        """Look for the best items, and promise them."""
        self.questions = choose_items(self.project, self.annotator, self.ask)
        self.answer = describe_questions(self.project, self.questions)
        if not self.questions:
            self.answer["skipped"] = self._skipped()

    def _skipped(self) -> dict[str, int] | None:
        """What this person could be asked about again, where nothing else is left."""
        until = self.project.ledger.sequence
        again = free_items(self.project, self.annotator, replace(self.ask, skipped_until=until))
        return {"items": int(again.sum()), "until": until} if again.any() else None


@dataclass
class ExtendLease(Task):
    """A heartbeat: the person is still there."""

    project: Project
    annotator: str
    lease_id: str

    def record(self, connection: Connection) -> None:
        """Move the end of the lease."""
        lease = own_lease(self.project, self.annotator, self.lease_id)
        lease = replace(lease, expires_at=now() + self.project.settings.lease_seconds)
        leases.extend(connection, lease.id, lease.expires_at)
        self.project.add_lease(lease)
        self.answer = {"id": lease.id, "expires_at": lease.expires_at}


@dataclass
class ReleaseLease(Task):
    """The item may be given to others."""

    project: Project
    annotator: str
    lease_id: str

    def record(self, connection: Connection) -> None:
        """End the lease."""
        lease = own_lease(self.project, self.annotator, self.lease_id)
        leases.remove(connection, [lease.id])
        self.project.end_lease(lease)


@dataclass(frozen=True)
class Question:
    """An item for a person, and why."""

    pick: Pick
    lease: Lease
    is_new: bool = True


def own_lease(project: Project, annotator: str, lease_id: str) -> Lease:
    """A lease that this person holds and that has not run out."""
    lease = project.leases.get(lease_id)
    if lease is None or lease.annotator != annotator or lease.expires_at <= now():
        raise NotFound("you have no lease with this id: it has expired, was answered, or belongs to somebody else")
    return lease


def choose_items(project: Project, annotator: str, ask: Ask) -> list[Question]:
    """Up to `count` items for this person; their leases are in memory when this returns."""
    if ask.strategy == "likely" and project.wanted is None:
        raise Invalid("strategy likely needs a project with the goal find, and the class that is wanted")
    if ask.variance is not None and ask.variance != "exact":
        _check_variance(project, ask.strategy or project.settings.strategy, ask.variance)
    time = now()
    free = free_items(project, annotator, ask)
    questions = []
    if ask.resume:
        held = project.leases.of_annotator(annotator)[: ask.count]
        questions = [Question(Pick(lease.item, 0.0, "resumed", lease.drawn), lease, is_new=False) for lease in held]
    for pick in pick_items(project, free, ask, ask.count - len(questions)):
        lease = _lease(project, annotator, pick, time, is_fair=ask.among is None)
        project.add_lease(lease)
        questions.append(Question(pick, lease))
    return questions


def _check_variance(project: Project, strategy: str, variance: VarianceName) -> None:
    """That a strategy can go by this variance, and the model has it."""
    able = [name for name, rule in every_strategy().items() if rule.bounded]
    if strategy not in able:
        raise Invalid(f"variance {variance} is for the strategies {', '.join(able)}; {strategy} goes by the exact one")
    learner = project.learner
    if learner is None or not len(learner):
        return
    if variance not in learner.variances:
        raise Invalid(f"this model has no variance {variance}; it has {', '.join(learner.variances)}")
    if variance == "fapu" and _is_slow(project):
        raise Invalid("variance fapu compares all items with all labels, which are too many; qfapu does not")


def _is_slow(project: Project) -> bool:
    """Whether a question by fapu would take more than a moment, in which nobody gets an answer."""
    return len(project.keys) * len(project.ledger.standings) > MOST_PAIRS


def _variance(project: Project, learner: OnlineLearner, strategy: str) -> VarianceName:
    """That of the settings, where strategy and model can go by it, and quickly."""
    rule, variance = every_strategy().get(strategy), project.settings.variance
    if rule is None or not rule.bounded or variance not in learner.variances:
        return "exact"
    return "qfapu" if variance == "fapu" and _is_slow(project) else variance


def free_items(project: Project, annotator: str, ask: Ask) -> NDArray[np.bool_]:
    """A mask of the items that this person may be asked about."""
    free = project.open_items(annotator, now(), ask.skipped_until)
    if ask.among is not None:
        chosen = np.zeros_like(free)
        chosen[[item for item in ask.among if item < len(chosen)]] = True
        free &= chosen
    return free


def lease_item(project: Project, annotator: str, item: int) -> Question:
    """A question about this very item, which the person may hold already."""
    pick = Pick(item, 0.0, "again", explored=False)
    for held in project.leases.of_answer(item, annotator):
        return Question(pick, held, is_new=False)
    lease = _lease(project, annotator, pick, now(), is_fair=False)
    project.add_lease(lease)
    return Question(pick, lease)


def describe_questions(project: Project, questions: list[Question]) -> dict[str, Any]:
    """The answer to a query, without the items' data."""
    known = _known(project, [question.pick.row for question in questions])
    found = []
    for question in questions:
        item, lease = question.pick.row, question.lease
        entry: dict[str, Any] = {
            "item": item,
            "key": project.keys[item],
            "score": float(np.nan_to_num(question.pick.score)),  # JSON has no infinity
            "strategy": question.pick.strategy,
            "explored": question.pick.explored,
            "mean": {},
            "variance": None,
            "novelty": None,
            "unlike": None,
            "lease": {"id": lease.id, "expires_at": lease.expires_at},
        }
        found.append(entry | known.get(item, {}))
    return {
        "model_version": project.version,
        "degraded": project.degraded is not None,
        "items": found,
    }


def _known(project: Project, items: list[int]) -> dict[int, dict[str, Any]]:
    """What the model says of those items that it knows; what is unlike anything is so by the last published state."""
    learner = None if project.broken else project.learner
    known = [] if learner is None else [item for item in items if item < len(learner)]
    if learner is None or not known:
        return {}
    numbers, published = np.array(known), project.view.model
    means, variances = learner.moments_of(numbers)
    novelty = learner.novelty_of(numbers)
    # From workers, labelled items would have to be fetched after each label.
    above = published.unlike_above if published is not None and learner.is_here else None
    found = {
        item: {"mean": dict(zip(learner.classes, mean.tolist(), strict=True)), "variance": float(variance)}
        for item, mean, variance in zip(known, means, variances, strict=True)
    }
    for item, new in zip(known, [] if novelty is None else novelty.tolist(), strict=False):
        found[item] |= {"novelty": new, "unlike": None if above is None else new > above}
    return found


def write_leases(connection: Connection, project: Project, questions: list[Question]) -> None:
    """Rows of new leases; what has run out goes."""
    rows = [
        {
            "id": lease.id,
            "project_id": project.id,
            "item": lease.item,
            "key_id": lease.annotator,
            "drawn": lease.drawn,
            "created_at": now(),
            "expires_at": lease.expires_at,
        }
        for lease in (question.lease for question in questions if question.is_new)
    ]
    leases.remove_expired(connection, project.id, now())
    leases.add(connection, rows)


def _lease(project: Project, annotator: str, pick: Pick, time: float, *, is_fair: bool) -> Lease:
    """A promise; a draw counts as one if it `is_fair`: from all items, not from those that somebody chose."""
    drawn = is_fair and (pick.explored or pick.strategy in ("random", "sample"))
    return Lease(new_id(), pick.row, annotator, drawn, time + project.settings.lease_seconds)


def pick_items(project: Project, free: NDArray[np.bool_], ask: Ask, count: int) -> list[Pick]:
    """What others have begun first, then what the model wants, then what it does not know yet."""
    picks = [Pick(item, 0.0, "overlap", explored=False) for item in _begun(project, free)][: max(count, 0)]
    free = free.copy()
    free[[pick.row for pick in picks]] = False
    if count > len(picks) and ask.strategy is None and project.wanted is not None and search.is_sampling(project):
        chosen = search.sample(project, np.flatnonzero(free), count - len(picks))
        return picks + [Pick(int(item), 0.0, "sample", explored=False) for item in chosen]
    if count > len(picks):
        picks += _model_picks(project, free, ask, count - len(picks))
        free[[pick.row for pick in picks]] = False
    if count > len(picks) and free.any():
        some = np.flatnonzero(free)
        rng = np.random.default_rng(_seed(project, ask))
        chosen = rng.choice(some, size=min(count - len(picks), len(some)), replace=False)
        picks += [Pick(int(item), 0.0, "random", explored=True) for item in chosen]
    return picks


def _begun(project: Project, free: NDArray[np.bool_]) -> list[int]:
    """Items that somebody has labelled and others are to label, too."""
    if project.settings.overlap == 1:
        return []
    return [item for item in project.ledger.standings if free[item] and project.ledger.votes(item)]


def _model_picks(project: Project, free: NDArray[np.bool_], ask: Ask, count: int) -> list[Pick]:
    learner = project.learner
    if learner is None:
        return []
    known = free[: len(learner)]
    pending = np.array([item for item in project.leases.items() if item < len(learner)], dtype=np.int64)
    settings, searches = project.settings, project.wanted is not None
    explore = 0.0 if searches else _random_share(project)
    strategy = ask.strategy or ("likely" if searches else settings.strategy)
    try:
        picks = learner.query(
            count,
            strategy,
            seed=_seed(project, ask),
            explore=explore if ask.explore is None else ask.explore,
            pending=pending,
            among=np.flatnonzero(known),
            wanted=project.wanted,
            loss=settings.loss_among(learner.classes),
            variance=ask.variance or _variance(project, learner, strategy),
        )
    except Exception as error:
        log.exception("no question could be found by the model of project %s", project.id)
        project.fallbacks += 1
        if strategy in STRATEGIES:
            project.broken = "the model could not choose a question; items are drawn at random"
        else:  # it says nothing of the model
            project.unchosen = f"strategy {strategy} failed ({type(error).__name__}); items are drawn at random"
        return []
    project.unchosen = None
    return picks


def _random_share(project: Project) -> float:
    """The share of items to draw at random: by the settings, or by the log alone, so that a repeat draws the same."""
    explore = project.settings.explore
    if explore != "auto":
        return explore
    n_labels = len(project.ledger.firsts)
    draws = Draws.of(project.draws(DRAWS), no_rows(), len(project.keys))
    near = is_near(draws, n_labels, project.settings.target_accuracy)
    return max(NEAR_SHARE if near else 0.0, random_share(n_labels))


def _seed(project: Project, ask: Ask) -> int:
    """A seed from the state of the project, so that the same state gives the same question."""
    if ask.seed is not None:
        return ask.seed
    return project.ledger.sequence * 1_000_003 + len(project.leases.leases)


def matching_items(project: Project, fields: Filter) -> frozenset[int]:
    """Items whose data holds all of this: a search through the database, which the writer has no time for."""
    with project.database.read() as connection:
        return frozenset(items.matching(connection, project.id, fields))
