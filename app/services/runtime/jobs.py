"""Long work in the background: a few threads that give way to people."""

import logging
import os
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import suppress
from typing import Any

from app.db import jobs
from app.db.database import Database, DatabaseUnavailable
from app.services.problems import ClusterLost, Conflict, NotFound, Problem
from app.services.runtime.clock import now
from app.services.runtime.ids import new_id

log = logging.getLogger(__name__)

NICE = 10
REPORT_EVERY = 0.5  # seconds
ASK_EVERY = 0.25  # seconds, whether work that others do is still wanted
TRY_AGAIN = 2.0  # seconds


class Cancelled(Exception):  # noqa: N818 - not an error
    """Somebody does not want it any more."""


class Progress:
    """What a job tells of itself; telling it is also where it ends when it is cancelled."""

    def __init__(self, database: Database, job_id: str) -> None:
        self._database, self.job_id = database, job_id
        self._cancelled = threading.Event()
        self._reported_at = 0.0
        self._steps = 0

    def cancel(self) -> None:
        """Ask the job to end at its next step."""
        self._cancelled.set()

    @property
    def is_cancelled(self) -> bool:
        """Whether nobody wants it any more."""
        return self._cancelled.is_set()

    def check(self) -> None:
        """Raise Cancelled if nobody wants it any more; costs next to nothing."""
        if self.is_cancelled:
            raise Cancelled

    def wait_for(self, future: Future[Any]) -> Any:
        """The result of what somebody else does; nobody who has cancelled waits for it."""
        while not future.done():
            try:
                self.check()
            except Cancelled:
                future.cancel()
                raise
            wait([future], ASK_EVERY)
        return future.result()

    def step(self) -> None:
        """Report that some work is done, where nobody knows how much there is."""
        self._steps += 1
        self.report(self._steps)

    def phase(self, message: str) -> None:
        """Report at once that another part of the work begins."""
        self._reported_at = 0.0
        self.report(0, None, message)

    def report(self, done: int, total: int | None = None, message: str | None = None) -> None:
        """Write down how far the job is, twice a second at most; raises Cancelled."""
        self.check()
        if time.monotonic() - self._reported_at > REPORT_EVERY:
            self._reported_at = time.monotonic()
            # A note is not worth the work: the next one may be written again.
            with suppress(DatabaseUnavailable), self._database.write() as connection:
                jobs.change(connection, self.job_id, done=done, total=total, message=message)


Work = Callable[[Progress], dict[str, Any]]


class JobRunner:
    """A queue of jobs and the threads that do them, in the order they came."""

    def __init__(self, database: Database, threads: int) -> None:
        self._database = database
        self._queue: queue.SimpleQueue[tuple[str, Work] | None] = queue.SimpleQueue()
        self._progress: dict[str, Progress] = {}
        self._stopping = threading.Event()
        self._threads = [threading.Thread(target=self._run, name=f"job-{i}", daemon=True) for i in range(threads)]
        for thread in self._threads:
            thread.start()

    @property
    def unfinished(self) -> list[str]:
        """Jobs of this process that have not ended."""
        return list(self._progress)

    def start(self, project_id: str, kind: str, work: Work, job_id: str | None = None) -> str:
        """Queue work; returns the job's id."""
        job_id = job_id or new_id()
        with self._database.write() as connection:
            jobs.add(connection, job_id, project_id, kind, now())
        self._progress[job_id] = Progress(self._database, job_id)
        self._queue.put((job_id, work))
        return job_id

    def is_active(self, job_id: str) -> bool:
        """Whether a job waits or runs, and was not cancelled."""
        progress = self._progress.get(job_id)
        return progress is not None and not progress.is_cancelled

    def get(self, project_id: str, job_id: str) -> dict[str, Any]:
        """How far a job is."""
        with self._database.read() as connection:
            row = jobs.get(connection, project_id, job_id)
        if row is None:
            raise NotFound("there is no such job in this project")
        return dict(row._mapping)

    def page(self, project_id: str, after: str, limit: int) -> list[dict[str, Any]]:
        """Jobs in the order they came."""
        with self._database.read() as connection:
            return [dict(row._mapping) for row in jobs.page(connection, project_id, after, limit)]

    def cancel(self, project_id: str, job_id: str) -> None:
        """Ask a job to end."""
        self.get(project_id, job_id)
        progress = self._progress.get(job_id)
        if progress is None:
            raise Conflict("the job has already ended")
        progress.cancel()
        with self._database.write() as connection:  # one that waits for a thread will only let go what it holds
            jobs.cancel_queued(connection, job_id, now())

    def stop(self) -> None:
        """Cancel everything and wait for the end."""
        self._stopping.set()
        for progress in list(self._progress.values()):
            progress.cancel()
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        with suppress(OSError, AttributeError):  # on Linux a thread can be nice of its own
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)
        while (entry := self._queue.get()) is not None:
            job_id, work = entry
            try:
                self._do(job_id, work)
            finally:
                self._progress.pop(job_id, None)

    def _do(self, job_id: str, work: Work) -> None:
        outcome: dict[str, Any]
        try:
            with suppress(DatabaseUnavailable), self._database.write() as connection:
                jobs.begin(connection, job_id)
            # Whatever happens, the work is begun: what it holds it lets go itself, also when it was cancelled before.
            outcome = {"state": "done", "result": work(self._progress[job_id]), "message": None}
        except Cancelled:
            outcome = {"state": "cancelled", "message": "cancelled"}
        except Problem as problem:
            outcome = {"state": "failed", "message": problem.detail}
        except (ClusterLost, ValueError) as error:
            outcome = {"state": "failed", "message": str(error)}
        except Exception as error:
            log.exception("job %s failed", job_id)
            outcome = {
                "state": "failed",
                "message": f"an unexpected {type(error).__name__}; see the log of the service",
            }
        self._write_end(job_id, outcome)

    def _write_end(self, job_id: str, outcome: dict[str, Any]) -> None:
        """Write how the job ended, however long that takes: it must not seem to go on. A restart ends the others."""
        while True:
            try:
                with self._database.write() as connection:
                    jobs.change(connection, job_id, finished_at=now(), **outcome)
                return
            except DatabaseUnavailable:
                log.exception("the end of job %s could not be written", job_id)
                if self._stopping.wait(TRY_AGAIN):
                    return
