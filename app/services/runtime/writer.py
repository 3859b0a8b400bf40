"""One writer per project: a thread that takes tasks from a queue in batches (turns), with one commit for each."""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from typing import Any, Literal, Protocol

from sqlalchemy import Connection

from app.db.database import Database, DatabaseUnavailable
from app.failpoints import failpoint
from app.services.problems import Problem, TooMany, Unavailable, without_database

log = logging.getLogger(__name__)

MAX_TASKS_PER_TURN = 64  # tasks
MAX_WAITING_TASKS = 1000  # tasks in a queue

Priority = Literal["now", "later"]
LATER: Priority = "later"  # work in the background: requests of people go first


class Task:
    """What the writer does for a caller, in steps that it takes for all tasks of a turn together.

    1. `prepare` computes what the next steps need: nothing is computed while the database is locked for writing.
    2. `record` writes what must not be lost, and changes the project's memory with it. One commit for all tasks; if it
       fails, memory is read again from the database. Where all tasks of a turn can go ahead, the next two steps are
       taken while the disk writes, and taken back if it could not; nobody sees them before it has.
    3. `learn` changes the model, which then learns the labels of all tasks at once.
    4. `respond` makes the `answer` for the caller, from the model that has learnt everything.
    5. `save_answer` writes what belongs to the answer and may be lost, such as leases, in a second commit.
    """

    answer: Any = None

    @property
    def records(self) -> bool:
        """Whether there is anything to record."""
        return type(self).record is not Task.record

    @property
    def goes_ahead(self) -> bool:
        """Whether the model learns nothing but labels, which can be taken back; known once it is recorded."""
        return False

    @property
    def saves_answer(self) -> bool:
        """Whether anything is written with the answer."""
        return type(self).save_answer is not Task.save_answer

    def prepare(self) -> None:
        """Compute what is to be written, from what was known before this turn."""

    def record(self, connection: Connection) -> None:
        """Write what must not be lost. Raise a Problem only before anything in memory is changed."""

    def learn(self) -> None:
        """Change the model, apart from labels."""

    def respond(self) -> None:
        """Make the answer, from the model as it is now."""

    def save_answer(self, connection: Connection) -> None:
        """Write what belongs to the answer, such as leases; it may be lost."""

    def answer_unsaved(self) -> None:
        """The second commit failed; what was recorded stands. Raise, or change the answer."""
        raise Unavailable("the database does not answer", retry_after=5)


class _Entry:
    """A task in a queue, and what its caller waits for."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.future: Future[Any] = Future()
        self.failed: BaseException | None = None

    def attempt(self, step: Callable[[], None]) -> None:
        """Take a step unless an earlier one failed."""
        if self.failed is None:
            try:
                step()
            except Exception as error:
                self.failed = error

    def finish(self) -> None:
        """Give the caller the answer, or the error."""
        if self.failed is not None:
            self.future.set_exception(self.failed)
        else:
            self.future.set_result(self.task.answer)


class Owner(Protocol):
    """A project as the writer knows it: whose memory the tasks change."""

    id: str
    database: Database

    def before_turn(self) -> None:
        """Called before each turn."""

    def reload_from(self, connection: Connection) -> None:
        """A task was taken back: what is in memory is to be what this connection sees."""

    def checkpoint(self) -> Callable[[], None]:
        """How to make the model again what it is now."""

    def learn_answers(self) -> None:
        """All answers of this turn are recorded."""

    def after_turn(self, committed: bool) -> None:
        """Called after each turn; if it was not committed, memory may be ahead of the database."""


class Writer:
    """Runs the tasks of a project one turn after the other."""

    def __init__(self, project: Owner) -> None:
        self._project, self._database = project, project.database
        self._wake = threading.Condition()
        self._queues: dict[Priority, deque[_Entry]] = {"now": deque(), "later": deque()}
        self._last: Priority = "later"  # kind of the last turn
        self._stopping: Callable[[], Problem] | None = None  # makes the error for tasks that come after `stop`
        self.commit_seconds = 0.0  # of the last commit
        self._committer = ThreadPoolExecutor(1, f"commit-{project.id}")
        self._thread = threading.Thread(target=self._run, name=f"writer-{project.id}", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """Tasks in the queues."""
        return sum(map(len, self._queues.values()))

    def submit(self, task: Task, priority: Priority = "now") -> "Future[Any]":
        """Queue a task."""
        entry = _Entry(task)
        with self._wake:
            if self._stopping is not None:
                raise self._stopping()
            if self.waiting >= MAX_WAITING_TASKS:
                raise TooMany("too many requests are waiting for this project: try again in a moment", retry_after=1)
            self._queues[priority].append(entry)
            self._wake.notify()
        return entry.future

    def do(self, task: Task, priority: Priority = "now") -> Any:
        """Queue a task and wait for its answer."""
        return self.submit(task, priority).result()

    def stop(
        self, problem: Callable[[], Problem] = lambda: Unavailable("the service is stopping", retry_after=5)
    ) -> None:
        """Finish what is queued, then end."""
        with self._wake:
            self._stopping = problem
            self._wake.notify()
        self._thread.join()
        self._committer.shutdown()

    def _run(self) -> None:
        while entries := self._next():
            self._turn([entry for entry in entries if entry.future.set_running_or_notify_cancel()])
            del entries  # a waiting thread must not keep answers alive

    def _next(self) -> list[_Entry]:
        """Up to 64 tasks that people wait for, or one of the others; the kinds take turns. Empty to stop."""
        with self._wake:
            self._wake.wait_for(lambda: self.waiting or self._stopping is not None)
            now, later = self._queues["now"], self._queues["later"]
            self._last = "later" if later and (not now or self._last == "now") else "now"
            if self._last == "later":
                return [later.popleft()]
            return [now.popleft() for _ in range(min(len(now), MAX_TASKS_PER_TURN))]

    def _turn(self, entries: list[_Entry]) -> None:
        """The steps of all tasks, one after the other; then every caller gets an answer or an error."""
        committed, commit = True, _nothing_to_commit()
        try:
            self._project.before_turn()
            for entry in entries:
                entry.attempt(entry.task.prepare)
            recording = [entry for entry in entries if entry.task.records and entry.failed is None]
            commit = self._record(recording)
            ahead = bool(recording) and all(entry.task.goes_ahead for entry in entries)
            take_back = self._project.checkpoint() if ahead else None
            committed = ahead or self._is_committed(commit, recording)
            for entry in entries:
                entry.attempt(entry.task.learn)
            if committed:
                self._project.learn_answers()
            failpoint("before-choice")
            for entry in entries:
                entry.attempt(entry.task.respond)
            if take_back is not None and not self._is_committed(commit, entries):
                committed = False
                take_back()
            saving = [entry for entry in entries if entry.task.saves_answer and entry.failed is None]
            committed = self._save_answers(saving) and committed
        except Exception as error:
            log.exception("a turn failed")
            committed = False
            for entry in entries:
                entry.failed = entry.failed or _as_problem(error)
        finally:
            wait([commit])
            try:
                self._project.after_turn(committed)
            except Exception:
                log.exception("the state after a turn could not be published")
            failpoint("before-answer")
            for entry in entries:
                entry.finish()

    def _record(self, entries: list[_Entry]) -> "Future[None]":
        """Write what must not be lost; the commit goes on by itself."""
        if not entries:
            return _nothing_to_commit()
        try:
            with ExitStack() as stack:
                connection = stack.enter_context(self._database.write())
                for entry in entries:
                    self._record_one(entry, connection)
                failpoint("after-insert")
                return self._committer.submit(self._commit, stack.pop_all())
        except DatabaseUnavailable as error:
            failed: Future[None] = Future()
            failed.set_exception(error)
            return failed

    def _commit(self, transaction: ExitStack) -> None:
        """The first commit."""
        begun = time.perf_counter()
        transaction.close()
        self.commit_seconds = time.perf_counter() - begun
        failpoint("after-commit")

    def _is_committed(self, commit: "Future[None]", entries: list[_Entry]) -> bool:
        """Wait for the first commit; if it was not made, these entries have failed."""
        try:
            commit.result()
        except DatabaseUnavailable as error:
            log.error("labels could not be written: %s", error)
            for entry in entries:
                entry.failed = entry.failed or _as_problem(error)
            return False
        return True

    def _record_one(self, entry: _Entry, connection: Connection) -> None:
        """What a task wrote before it failed is taken back, and what it changed in memory is read again."""
        try:
            with self._database.part(connection):
                entry.task.record(connection)
        except DatabaseUnavailable:
            raise
        except Problem as problem:  # raised before anything was changed
            entry.failed = problem
        except Exception as error:
            log.exception("a task failed")
            entry.failed = error
            self._project.reload_from(connection)

    def _save_answers(self, entries: list[_Entry]) -> bool:
        """The second commit; whether all of it was written."""
        if not entries:
            return True
        try:
            with self._database.write() as connection:
                for entry in entries:
                    self._save_one(entry, connection)
        except DatabaseUnavailable as error:
            log.error("leases could not be written: %s", error)
            for entry in entries:
                entry.attempt(entry.task.answer_unsaved)
            return False
        return all(entry.failed is None for entry in entries)

    def _save_one(self, entry: _Entry, connection: Connection) -> None:
        try:
            with self._database.part(connection):
                entry.task.save_answer(connection)
        except DatabaseUnavailable:
            raise
        except Exception as error:
            log.exception("a task failed")
            entry.failed = error


def _nothing_to_commit() -> "Future[None]":
    done: Future[None] = Future()
    done.set_result(None)
    return done


def _as_problem(error: Exception) -> Exception:
    if isinstance(error, DatabaseUnavailable):
        return without_database(error)
    return error
