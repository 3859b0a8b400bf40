"""Answers: labels, skips, "unsure", retractions and undoing, each an event that is never lost."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sqlalchemy import Connection

from app.db import events, leases, projects
from app.services.labelling.questions import Ask, LeasingTask, choose_items, describe_questions, lease_item
from app.services.problems import ClusterLost, Conflict, Invalid, NotFound
from app.services.project.classes import check_room
from app.services.project.ledger import Event, Kind, Standing
from app.services.project.state import Project
from app.services.runtime.clock import now
from app.services.runtime.writer import Task

NAMED = 3  # classes that an error names


@dataclass(frozen=True)
class Answer:
    """Somebody's answer on an item: a class, or an action."""

    key: str
    label: str | None = None
    action: Kind = "label"
    note: str | None = None
    lease: str | None = None


@dataclass(kw_only=True)
class AnswerTask(LeasingTask):
    """Answers of one person, and the next items for them."""

    answers: Sequence[Answer]
    ask: Ask | None = None
    request: int | None = None  # row of the request, if it has an idempotency key
    _new_classes: list[str] = field(default_factory=list)
    _late: list[str] = field(default_factory=list)
    _predicted: dict[int, int | None] = field(default_factory=dict)

    def prepare(self) -> None:
        """Predict the items before their labels are learnt."""
        numbers = self.project.item_numbers
        known = [numbers[answer.key] for answer in self.answers if answer.key in numbers]
        self._predicted = predicted_classes(self.project, known)

    def record(self, connection: Connection) -> None:
        """Check all answers, then write an event for each."""
        numbers = [self._item(place, answer) for place, answer in enumerate(self.answers)]
        self._check_labels()
        for item, answer in zip(numbers, self.answers, strict=True):
            self._write(connection, item, answer)

    def learn(self) -> None:
        """Add new classes to the learner; the labels follow for all tasks at once."""
        if self._new_classes:
            self.project.with_model(lambda learner: learner.add_classes(self._new_classes))

    def respond(self) -> None:
        """The next items, from the model that has learnt these answers."""
        if self.ask is not None:
            self.questions = choose_items(self.project, self.annotator, self.ask)
        self.answer = {"accepted": len(self.answers), "late": self._late} | describe_questions(
            self.project, self.questions
        )

    def answer_unsaved(self) -> None:
        """What was recorded is safe; only the items are not."""
        self.answer = self.answer | {"items": []}

    def _item(self, place: int, answer: Answer) -> int:
        item = self.project.item_numbers.get(answer.key)
        if item is None:
            raise NotFound(f"entry {place}: there is no item with this key")
        if answer.action == "retract" and self.project.ledger.standing(item, self.annotator) is None:
            raise Conflict(f"entry {place}: you have no answer on this item that could be retracted")
        return item

    def _check_labels(self) -> None:
        classes = self.project.classes
        can_grow = self.project.settings.open_classes or not classes.names
        new = set()
        for place, answer in enumerate(self.answers):
            if answer.action == "label" and classes.number(answer.label or "") is None:
                if not can_grow:
                    names = classes.active()
                    rest = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
                    known = ", ".join(names[:NAMED]) + rest
                    raise Invalid(f"entry {place}: this label is not a class of the project; its classes are: {known}")
                new.add(answer.label)
        check_room(self.project, len(new))

    def _write(self, connection: Connection, item: int, answer: Answer) -> None:
        project = self.project
        ended = project.leases.of_answer(item, self.annotator)
        if answer.lease is not None and answer.lease not in {lease.id for lease in ended if lease.expires_at > now()}:
            self._late.append(answer.key)
        drawn, asked = any(lease.drawn for lease in ended), bool(ended) or answer.lease is not None
        number = self._class_number(connection, answer.label) if answer.label is not None else None
        standing = project.ledger.standing(item, self.annotator)
        kind: Kind = answer.action
        if kind == "label" and standing is not None and standing.kind == "label":
            kind = "relabel"
        write_event(
            connection,
            project,
            Event(0, item, self.annotator, kind, number, self._predicted.get(item), drawn, asked),
            actor=self.annotator,
            note=answer.note,
            request=self.request,
        )
        if kind != "comment":
            leases.remove(connection, [lease.id for lease in ended])
            for lease in ended:
                project.end_lease(lease)

    def _class_number(self, connection: Connection, name: str) -> int:
        number = self.project.classes.number(name)
        if number is None:
            number = projects.add_class(connection, self.project.id, name)
            self.project.classes = self.project.classes.with_class(number, name)
            self.project.revision += 1
            self._new_classes.append(name)
        return number


@dataclass(kw_only=True)
class UndoTask(LeasingTask):
    """Take a person's last answer back and give them the item again."""

    request: int | None = None  # as in AnswerTask
    _item: int | None = None

    def record(self, connection: Connection) -> None:
        """An event that restores what stood before."""
        done = self.project.ledger.last_undoable(self.annotator)
        if done is None:
            raise Conflict("there is nothing to undo")
        self._item = done.item
        event = restoring_event(done.item, self.annotator, done.before, undoes=done.sequence)
        write_event(connection, self.project, event, actor=self.annotator, request=self.request)

    def respond(self) -> None:
        """The item again; what the person holds if others have got it by now, or in a repeat without a first answer."""
        if self._item is None or not self.project.may_have(self._item, self.annotator):
            self.questions = choose_items(self.project, self.annotator, Ask(resume=True))
        else:
            self.questions = [lease_item(self.project, self.annotator, self._item)]
        self.answer = describe_questions(self.project, self.questions)

    def answer_unsaved(self) -> None:
        """What was recorded is safe; only the items are not."""
        self.answer = self.answer | {"items": []}


@dataclass
class RetractTask(Task):
    """Withdraw labels of an item: one's own; an administrator without one withdraws everybody's."""

    project: Project
    annotator: str
    key: str
    everybody: bool

    def record(self, connection: Connection) -> None:
        """One event for each label that goes."""
        item = self.project.item_numbers.get(self.key)
        votes = self.project.ledger.votes(item) if item is not None else {}
        whose = [self.annotator] if self.annotator in votes else list(votes) if self.everybody else []
        if item is None or not whose:
            raise NotFound("you have no label on an item with this key")
        for annotator in whose:
            write_event(connection, self.project, Event(0, item, annotator, "retract"), actor=self.annotator)
        self._retracted = len(whose)

    def respond(self) -> None:
        """Tell how many went."""
        self.answer = {"retracted": self._retracted, "model_version": self.project.version}


def write_event(
    connection: Connection,
    project: Project,
    event: Event,
    *,
    actor: str,
    note: str | None = None,
    request: int | None = None,
) -> None:
    """Insert the event, and apply it to the project's memory."""
    event = replace(event, actor=actor, created_at=now())
    values: dict[str, Any] = {
        "project_id": project.id,
        "item": event.item,
        "key_id": event.annotator,
        "actor_id": actor,
        "kind": event.kind,
        "class_number": event.class_number,
        "predicted": event.predicted,
        "drawn": event.drawn,
        "asked": event.asked,
        "note": note,
        "undoes": event.undoes,
        "request_id": request,
        "created_at": event.created_at,
    }
    project.apply(replace(event, sequence=events.add(connection, values)))


def restoring_event(item: int, annotator: str, before: Standing | None, *, undoes: int) -> Event:
    """The event after which a person's answer is what it was before."""
    if before is None:
        return Event(0, item, annotator, "retract", undoes=undoes)
    kind: Kind = "relabel" if before.kind == "label" else before.kind
    return Event(0, item, annotator, kind, before.class_number, undoes=undoes)


def predicted_classes(project: Project, items: Sequence[int]) -> dict[int, int | None]:
    """Predicted class number by item, of those that the published model knows; none before two classes have labels."""
    model = project.view.model
    if model is None or project.view.n_seen < 2:
        return {}
    known = [item for item in dict.fromkeys(items) if item < len(model)]
    try:
        found = model.predicted_of(np.array(known, dtype=np.int64)).tolist() if known else []
    except ClusterLost:  # a lost cluster must not keep a label from being stored
        return {}
    return {item: project.classes.number(model.classes[place]) for item, place in zip(known, found, strict=True)}
