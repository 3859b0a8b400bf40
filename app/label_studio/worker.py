"""The thread of a link: tasks become items, annotations become labels, and Label Studio learns what to ask next."""

import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from app.label_studio.annotations import WriteAnnotations
from app.label_studio.intake import Intake, refuse_to_fetch, waiting_tasks
from app.label_studio.label_config import LabelConfig
from app.label_studio.mirror import Mirror
from app.label_studio.pushing import Best, ChooseBest, is_version, version_name
from app.label_studio.remote import Remote, RemoteError
from app.services.problems import Conflict, Problem, Unavailable
from app.services.project.classes import AddClass
from app.services.registry.running import Running
from app.services.registry.service import Service
from app.services.runtime.clock import now
from app.services.runtime.jobs import Cancelled, Progress

log = logging.getLogger(__name__)

LOOK_EVERY = 1.0  # seconds between looks at the model, which may have learnt from others
QUIET = 3  # looks without anything to do before there is time for tidying
LONGEST_PAUSE = 30.0  # seconds between attempts while Label Studio does not answer
TASKS_AT_A_TIME = 20_000

TakeConfig = Callable[[str, int | None], str]


class Silent(Progress):
    """The progress of work that is no job: nobody is told, but it ends when the link does."""

    def __init__(self, stopping: threading.Event) -> None:
        self._stopping, self._steps, self._reported_at = stopping, 0, 0.0

    def check(self) -> None:
        """Raise Cancelled when the link ends."""
        if self._stopping.is_set():
            raise Cancelled

    def report(self, done: int, total: int | None = None, message: str | None = None) -> None:  # noqa: ARG002
        """Check, and tell nobody."""
        self.check()


class Worker:
    """Works in rounds: when it is asked to, when the model has changed, and again when Label Studio was away."""

    def __init__(
        self, service: Service, mirror: Mirror, row: Any, remote: Remote | None, take_config: TakeConfig
    ) -> None:
        self._service, self._mirror, self._id, self._top = service, mirror, row.project_id, row.top
        self._take_config = take_config
        self.remote = remote
        self.remote_project: int | None = row.remote_project
        self.config: LabelConfig | None = None
        self.pushed: int | None = row.pushed_version
        self.problem: str | None = row.problem
        self._behind = remote is not None  # what happened while nobody listened?
        self._untidy = False
        self._working = threading.Lock()  # a round, or a sync
        self._wake = threading.Condition()
        self._tickets: list[Future[None]] = []
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"label-studio-{self._id}", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread after the round that is going on."""
        self._stopping.set()
        with self._wake:
            self._wake.notify_all()
        if self.remote is not None:
            self.remote.close()
        self._thread.join()

    def request_round(self) -> "Future[None]":
        """Ask for a round; done when one is over that began after this."""
        ticket: Future[None] = Future()
        with self._wake:
            self._tickets.append(ticket)
            self._wake.notify_all()
        return ticket

    def sync(self, progress: Progress) -> None:
        """Everything that Label Studio has, now."""
        if self.remote is None:
            raise Conflict("a sync needs the address of Label Studio and a token")
        try:
            self._round(progress, pull=True)
        except RemoteError as error:
            raise Conflict(str(error)) from error

    def set_problem(self, problem: str | None) -> None:
        """What is wrong, shown until it goes well."""
        if problem != self.problem:
            self.problem = problem
            self._mirror.change_link(problem=problem)
            if problem is not None:
                log.warning("Label Studio and project %s: %s", self._id, problem)

    def _run(self) -> None:
        pause, quiet, tickets = LOOK_EVERY, 0, list[Future[None]]()
        while not self._stopping.is_set():
            try:
                self._round(Silent(self._stopping), pull=self._behind)
                quiet = 0 if tickets else quiet + 1
                if quiet >= QUIET:
                    self._remove_old_predictions()
                pause = LOOK_EVERY
            except (Unavailable, Cancelled):
                pause = LOOK_EVERY  # the service is starting or stopping
            except (RemoteError, Problem):
                pause = min(2 * pause, LONGEST_PAUSE)
            except Exception:
                log.exception("what Label Studio sent for project %s could not be worked on", self._id)
                pause = LONGEST_PAUSE
            for ticket in tickets:
                ticket.set_result(None)
            with self._wake:
                self._wake.wait_for(lambda: self._tickets or self._stopping.is_set(), timeout=pause)
                tickets, self._tickets = self._tickets, []

    def _round(self, progress: Progress, *, pull: bool) -> None:
        """Whatever waits; costs little where nothing does."""
        running = self._service.running(self._id)
        with self._working, self._keeping_problems():
            if pull and self.remote is not None:
                self._pull(self.remote, progress)
            if self.config is not None:
                self._learn(running, self.config, progress, are_all=pull)
                self._push(running, self.config)

    @contextmanager
    def _keeping_problems(self) -> Iterator[None]:
        """Where something went wrong, something may have been missed."""
        try:
            yield
        except Unavailable:
            raise
        except (RemoteError, Problem) as error:
            self._behind = self.remote is not None
            self.set_problem(str(error))
            raise
        self.set_problem(None)

    def _pull(self, remote: Remote, progress: Progress) -> None:
        """Tasks and annotations as they are there now."""
        begun, known = now(), set(self._mirror.items)
        if self.remote_project is None:
            return  # nobody has called yet
        progress.phase("asking Label Studio")
        self._take_config(remote.project(self.remote_project).label_config or "", self.remote_project)
        tasks, names = remote.export(self.remote_project), remote.users()
        progress.phase(f"keeping {len(tasks)} tasks of Label Studio")
        if self.config is not None:
            self._mirror.keep_export(self.config, tasks, names, begun, known)
        self._mirror.change_link(synced_at=now())
        self._behind = False

    def _learn(self, running: Running, config: LabelConfig, progress: Progress, *, are_all: bool) -> None:
        """Tasks that wait become items, annotations that wait become labels."""
        for name in config.classes:
            if running.project.classes.number(name) is None:
                running.writer.do(AddClass(running.project, name))
        fetch = refuse_to_fetch if self.remote is None else self.remote.download
        intake = Intake(running, self._service.media, self._service.uploads, config, fetch)
        while waiting := waiting_tasks(self._service.database, self._id, TASKS_AT_A_TIME):
            handled = intake.add(waiting, progress, are_all=are_all)
            self._mirror.reload()
            if handled < len(waiting):
                break
        while self._mirror.has_answers():
            running.writer.do(WriteAnnotations(running.project))
            self._service.train_if_due(running)

    def _push(self, running: Running, config: LabelConfig) -> None:
        """Tell Label Studio what to ask next, if the model has changed."""
        number, remote = self.remote_project, self.remote
        if remote is None or number is None or self.pushed == running.project.view.version:
            return
        tasks = {item: task for task, item in self._mirror.items.items()}
        # Label Studio gives nobody a task that they skipped, and takes one with an empty answer for finished.
        touched = self._mirror.touched_tasks()
        groups = [{item for item, task in tasks.items() if (task in touched) == seen} for seen in (False, True)]
        best: Best = running.writer.do(ChooseBest(running.project, config, groups, self._top))
        version = version_name(best.version)
        entries = [
            {"task": tasks[item], "model_version": version} | entry
            for item, entry in zip(best.items, best.predictions, strict=True)
        ]
        before, self.pushed = self.pushed, best.version
        if not entries:
            return
        try:
            remote.push(number, entries, version)
        except RemoteError:
            self.pushed = before
            raise
        drawn = [tasks[item] for item, is_drawn in zip(best.items, best.drawn, strict=True) if is_drawn]
        self._mirror.note_push(best.version, drawn, now())
        self._untidy = True

    def _remove_old_predictions(self) -> None:
        """Predictions of older versions pile up in Label Studio: one version goes at each quiet moment."""
        number, remote = self.remote_project, self.remote
        if not self._untidy or remote is None or number is None or self.pushed is None:
            return
        with self._working:
            old = [name for name in remote.versions(number) if is_version(name) and name != version_name(self.pushed)]
            if old:
                remote.forget(number, old[0])
            self._untidy = len(old) > 1
