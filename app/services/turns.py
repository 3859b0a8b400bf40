"""One writer per project: a thread that takes tasks from a queue, many at a turn, one commit for all of them."""

import itertools
import logging
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Protocol

from sqlalchemy import Connection

from app.db.database import Database, DatabaseUnavailable
from app.failpoints import failpoint
from app.services.problems import Problem, TooMany, Unavailable

log = logging.getLogger(__name__)

MOST_AT_A_TURN = 64
MOST_WAITING = 1000
NOW, LATER = 0, 1  # priorities: people wait for the first; the second lets them go ahead
STOP = 2


class Task:
    """What the writer does for a caller, in steps that it takes for all tasks of a turn together.

    `record` writes what must not be lost; it may change what the project holds in memory, since that is read again
    from the database when the commit fails. `learn` changes the model; then it learns the answers of all tasks at once.
    `choose` looks at the model that has learnt everything, and `settle` writes what may be lost. The caller gets
    `answer`.
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

    def learn_answers(self) -> None:
        """All answers of this turn are recorded."""

    def after_turn(self, committed: bool) -> None:
        """The turn is over; what it wrote may be lost."""


class Writer:
    """Runs the tasks of a project one turn after the other."""

    def __init__(self, project: Owner) -> None:
        self._project, self._database = project, project.database
        self._queue: queue.PriorityQueue[tuple[int, int, _Job | None]] = queue.PriorityQueue()
        self._count = itertools.count()
        self._stopping = False
        self.commit_seconds = 0.0  # of the last commit
        self._thread = threading.Thread(target=self._run, name=f"writer-{project.id}", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """Tasks in the queue."""
        return self._queue.qsize()

    def submit(self, task: Task, priority: int = NOW) -> "Future[Any]":
        """Queue a task."""
        if self._stopping:
            raise Unavailable("the service is stopping", retry_after=5)
        if self.waiting >= MOST_WAITING:
            raise TooMany("too many requests wait for this project", retry_after=1)
        job = _Job(task)
        self._queue.put((priority, next(self._count), job))
        return job.future

    def do(self, task: Task, priority: int = NOW) -> Any:
        """Queue a task and wait for its answer."""
        return self.submit(task, priority).result()

    def stop(self) -> None:
        """Finish what is queued, then end."""
        self._stopping = True
        self._queue.put((STOP, next(self._count), None))
        self._thread.join()

    def _run(self) -> None:
        while True:
            priority, _, first = self._queue.get()
            if first is None:
                return
            jobs = [first]
            while priority == NOW and len(jobs) < MOST_AT_A_TURN:
                try:
                    entry = self._queue.get_nowait()
                except queue.Empty:
                    break
                if entry[0] != NOW or entry[2] is None:
                    self._queue.put(entry)
                    break
                jobs.append(entry[2])
            self._turn([job for job in jobs if job.future.set_running_or_notify_cancel()])
            del first, jobs  # a waiting thread must not keep answers alive

    def _turn(self, jobs: list[_Job]) -> None:
        committed = True
        try:
            self._project.before_turn()
            committed = self._record([job for job in jobs if job.task.records])
            for job in jobs:
                job.attempt(job.task.learn)
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
                    try:
                        with connection.begin_nested():
                            job.task.record(connection)
                    except Problem as problem:
                        job.failed = problem
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

    def _settle(self, jobs: list[_Job]) -> bool:
        if not jobs:
            return True
        try:
            with self._database.write() as connection:
                for job in jobs:
                    job.task.settle(connection)
        except DatabaseUnavailable as error:
            log.error("leases could not be written: %s", error)
            for job in jobs:
                job.attempt(job.task.unsettled)
            return False
        return True


def _as_problem(error: Exception) -> Exception:
    if isinstance(error, DatabaseUnavailable):
        return Unavailable("the database does not answer", retry_after=5)
    return error
