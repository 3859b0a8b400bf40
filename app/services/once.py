"""Idempotency: a request with a key is done once, however often it is sent."""

from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection

from app.db import events
from app.services.clock import now
from app.services.problems import Invalid
from app.services.project import Project
from app.services.questions import Question, write_leases
from app.services.turns import Task


@dataclass(frozen=True)
class Idempotency:
    """A key by which a repeat is known, and what it must repeat."""

    key: str
    fingerprint: bytes


@dataclass(kw_only=True)
class OnceTask(Task):
    """A task that writes events and answers with items; a repeat writes nothing and gets the first answer.

    The key stands in the same transaction as the events; the answer follows when it is known. A repeat that finds a key
    without an answer comes from a client that never got one, and gets a new one.
    """

    project: Project
    idempotency: Idempotency | None = None
    _request: int | None = None
    _repeated: bool = False
    _stored: dict[str, Any] | None = None
    _questions: list[Question] = field(default_factory=list)

    def check(self) -> None:
        """Raise a Problem before anything is written."""

    def write(self, connection: Connection) -> None:
        """Write the events."""

    def respond(self) -> dict[str, Any]:
        """The answer; its items are left in `_questions`."""
        raise NotImplementedError

    def record(self, connection: Connection) -> None:
        """All or nothing; a repeat writes nothing."""
        one = self.idempotency
        if one is not None and self._is_repeat(connection, one):
            return
        self.check()
        if one is not None:
            self._request = events.add_request(connection, self.project.id, one.key, one.fingerprint, now())
        self.write(connection)

    def choose(self) -> None:
        """Answer as the first time, or now."""
        answers = self.project.turn_answers  # a twin may have come in the same turn
        if self._repeated and self._request is not None:
            self._stored = self._stored or answers.get(self._request)
        self.answer = self._stored or self.respond()
        if self._request is not None:
            answers[self._request] = self.answer

    @property
    def settles(self) -> bool:
        """New leases, and an answer for repeats."""
        return self._stored is None and (bool(self._questions) or self._request is not None)

    def settle(self, connection: Connection) -> None:
        """Write them."""
        write_leases(connection, self.project, self._questions)
        if self._request is not None:
            events.set_answer(connection, self._request, self.answer)

    def unsettled(self) -> None:
        """What was recorded is safe; only the items are not."""
        self.answer = self.answer | {"items": []}

    def _is_repeat(self, connection: Connection, one: Idempotency) -> bool:
        row = events.find_request(connection, self.project.id, one.key)
        if row is None:
            return False
        if bytes(row.fingerprint) != one.fingerprint:
            raise Invalid("this idempotency key was used with another body")
        self._request, self._stored, self._repeated = row.id, row.answer, True
        return True
