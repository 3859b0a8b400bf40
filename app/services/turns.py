"""One writer per project: a thread that takes tasks from a queue, many at a turn, one commit for all of them."""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Literal, Protocol

from sqlalchemy import Connection

from app.db.database import Database, DatabaseUnavailable
from app.failpoints import failpoint
from app.services.problems import Problem, TooMany, Unavailable, without_database

log = logging.getLogger(__name__)

MOST_AT_A_TURN = 64
MOST_WAITING = 1000

Priority = Literal["now", "later"]
LATER: Priority = "later"  # what lets people go ahead


class Task:
    """What the writer does for a caller, in steps that it takes for all tasks of a turn together.

    `prepare` computes what the others need, since `record` and `settle` keep the whole database from everybody else:
    nothing is computed there. `record` writes what must not be lost; it may change what the project holds in memory,
    since that is read again from the database when the commit fails. `learn` changes the model; then it learns the
    answers of all tasks at once. `choose` looks at the model that has learnt everything, and `settle` writes what may
    be lost. The caller gets `answer`.
    """

    answer: Any = None

    @property
    def records(self) -> bool:
        """Whether there is anything to record."""
        return type(self).record is not Task.record

    @property
    def settles(self) -> bool:
        """Whether there is anything to settle."""
        return type(self).settle is not Task.settle

    def prepare(self) -> None:
        """Compute what is to be written, from what was known before this turn."""

    def record(self, connection: Connection) -> None:
        """Write to the log."""

    def learn(self) -> None:
        """Change the model, apart from labels."""

    def choose(self) -> None:
        """Look at the model."""

    def settle(self, connection: Connection) -> None:
        """Write what may be lost."""

    def unsettled(self) -> None:
        """Settling failed: what was recorded stands. Raise, or change the answer."""
        raise Unavailable("the database does not answer", retry_after=5)


class _Job:
    def __init__(self, task: Task) -> None:
        self.task = task
        self.future: Future[Any] = Future()
        self.failed: BaseException | None = None

    def attempt(self, step: Callable[[], None]) -> None:
        if self.failed is None:
            try:
                step()
            except Exception as error:
                self.failed = error

    def finish(self) -> None:
        if self.failed is not None:
            self.future.set_exception(self.failed)
        else:
            self.future.set_result(self.task.answer)


class Owner(Protocol):
    """Whose memory the tasks change: a project."""

    id: str
    database: Database

    def before_turn(self) -> None:
        """Nothing of this turn has happened yet."""

    def read_again(self, connection: Connection) -> None:
        """A task was taken back: what is in memory is to be what this connection sees."""

    def learn_answers(self) -> None:
        """All answers of this turn are recorded."""

    def after_turn(self, committed: bool) -> None:
        """The turn is over; what it wrote may be lost."""


class Writer:
    """Runs the tasks of a project one turn after the other."""

    def __init__(self, project: Owner) -> None:
        self._project, self._database = project, project.database
        self._wake = threading.Condition()
        self._queues: dict[Priority, deque[_Job]] = {"now": deque(), "later": deque()}
        self._last: Priority = "later"  # kind of the last turn
        self._stopping: Callable[[], Problem] | None = None  # what those are told who come too late
        self.commit_seconds = 0.0  # of the last commit
        self._thread = threading.Thread(target=self._run, name=f"writer-{project.id}", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """Tasks in the queues."""
        return sum(map(len, self._queues.values()))

    def submit(self, task: Task, priority: Priority = "now") -> "Future[Any]":
        """Queue a task."""
        job = _Job(task)
        with self._wake:
            if self._stopping is not None:
                raise self._stopping()
            if self.waiting >= MOST_WAITING:
                raise TooMany("too many requests wait for this project", retry_after=1)
            self._queues[priority].append(job)
            self._wake.notify()
        return job.future

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

    def _run(self) -> None:
        while jobs := self._next():
            self._turn([job for job in jobs if job.future.set_running_or_notify_cancel()])
            del jobs  # a waiting thread must not keep answers alive

    def _next(self) -> list[_Job]:
        """All that people wait for, or one task of the others: both kinds get on, whoever is busy. Empty at the end."""
        with self._wake:
            self._wake.wait_for(lambda: self.waiting or self._stopping is not None)
            now, later = self._queues["now"], self._queues["later"]
            self._last = "later" if later and (not now or self._last == "now") else "now"
            if self._last == "later":
                return [later.popleft()]
            return [now.popleft() for _ in range(min(len(now), MOST_AT_A_TURN))]

    def _turn(self, jobs: list[_Job]) -> None:
        committed = True
        try:
            self._project.before_turn()
            for job in jobs:
                job.attempt(job.task.prepare)
            committed = self._record([job for job in jobs if job.task.records and job.failed is None])
            for job in jobs:
                job.attempt(job.task.learn)
            if committed:
                self._project.learn_answers()
            failpoint("before-choice")
            for job in jobs:
                job.attempt(job.task.choose)
            committed = self._settle([job for job in jobs if job.task.settles and job.failed is None]) and committed
        except Exception as error:
            log.exception("a turn failed")
            committed = False
            for job in jobs:
                job.failed = job.failed or _as_problem(error)
        finally:
            try:
                self._project.after_turn(committed)
            except Exception:
                log.exception("the state after a turn could not be published")
            failpoint("before-answer")
            for job in jobs:
                job.finish()

    def _record(self, jobs: list[_Job]) -> bool:
        if not jobs:
            return True
        try:
            with self._database.write() as connection:
                for job in jobs:
                    self._record_one(job, connection)
                failpoint("after-insert")
                begun = time.perf_counter()
            self.commit_seconds = time.perf_counter() - begun
            failpoint("after-commit")
        except DatabaseUnavailable as error:
            log.error("labels could not be written: %s", error)
            for job in jobs:
                job.failed = job.failed or _as_problem(error)
            return False
        return True

    def _record_one(self, job: _Job, connection: Connection) -> None:
        """What a task wrote before it failed is taken back, and what it changed in memory is read again."""
        try:
            with self._database.part(connection):
                job.task.record(connection)
        except DatabaseUnavailable:
            raise
        except Problem as problem:  # raised before anything was changed
            job.failed = problem
        except Exception as error:
            log.exception("a task failed")
            job.failed = error
            self._project.read_again(connection)

    def _settle(self, jobs: list[_Job]) -> bool:
        """Whether all of it was written."""
        if not jobs:
            return True
        try:
            with self._database.write() as connection:
                for job in jobs:
                    self._settle_one(job, connection)
        except DatabaseUnavailable as error:
            log.error("leases could not be written: %s", error)
            for job in jobs:
                job.attempt(job.task.unsettled)
            return False
        return all(job.failed is None for job in jobs)

    def _settle_one(self, job: _Job, connection: Connection) -> None:
        try:
            with self._database.part(connection):
                job.task.settle(connection)
        except DatabaseUnavailable:
            raise
        except Exception as error:
            log.exception("a task failed")
            job.failed = error


def _as_problem(error: Exception) -> Exception:
    if isinstance(error, DatabaseUnavailable):
        return without_database(error)
    return error
