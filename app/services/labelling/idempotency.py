"""Idempotency: a request with a key is done once, however often it is sent."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from app.db import events
from app.services.labelling.answers import AnswerTask, UndoTask
from app.services.problems import Invalid
from app.services.runtime.clock import now
from app.services.runtime.writer import Task


@dataclass(frozen=True)
class Idempotency:
    """A key by which a repeat is known, and what it must repeat."""

    key: str
    fingerprint: bytes


class Once(Task):
    """Wraps a task that writes events: a repeat writes nothing and gets the first answer.

    The key stands in the same transaction as the events; the answer follows when it is known. A repeat that finds a key
    without an answer comes from a client that never got one, and gets a new one.
    """

    def __init__(self, task: AnswerTask | UndoTask, idempotency: Idempotency) -> None:
        self._task, self._project, self._idempotency = task, task.project, idempotency
        self._request = 0  # the row of the first request
        self._is_repeat = False
        self._first_answer: dict[str, Any] | None = None

    def prepare(self) -> None:
        """Let the task prepare: nobody knows yet whether it is a repeat."""
        self._task.prepare()

    def record(self, connection: Connection) -> None:
        """The key, and what the task writes; nothing for a repeat."""
        if self._find_first(connection):
            return
        key, fingerprint = self._idempotency.key, self._idempotency.fingerprint
        self._request = events.add_request(connection, self._project.id, key, fingerprint, now())
        self._task.request = self._request
        self._task.record(connection)

    @property
    def goes_ahead(self) -> bool:
        """As far as the task does."""
        return self._task.goes_ahead

    def learn(self) -> None:
        """Nothing new from a repeat."""
        if not self._is_repeat:
            self._task.learn()

    def respond(self) -> None:
        """Answer as the first time, or now."""
        answers = self._project.turn_answers  # a twin may have come in the same turn
        if self._is_repeat:
            self._first_answer = self._first_answer or answers.get(self._request)
        if self._first_answer is None:
            self._task.respond()
        self.answer = answers[self._request] = self._first_answer or self._task.answer

    @property
    def saves_answer(self) -> bool:
        """Unless it is saved already."""
        return self._first_answer is None

    def save_answer(self, connection: Connection) -> None:
        """What the task saves, and the answer for repeats."""
        if self._task.saves_answer:
            self._task.save_answer(connection)
        events.set_answer(connection, self._request, self.answer)

    def answer_unsaved(self) -> None:
        """The task says what is left of the answer."""
        self._task.answer_unsaved()
        self.answer = self._task.answer

    def _find_first(self, connection: Connection) -> bool:
        """Whether there was a request with this key before."""
        row = events.find_request(connection, self._project.id, self._idempotency.key)
        if row is None:
            return False
        if bytes(row.fingerprint) != self._idempotency.fingerprint:
            raise Invalid("this idempotency key was already used with another body: use a new one")
        self._request, self._first_answer, self._is_repeat = row.id, row.answer, True
        return True
