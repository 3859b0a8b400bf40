"""Housekeeping: what goes on in the background of a service, whoever calls or does not."""

import logging
import queue
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from app.db import projects
from app.db.database import AlreadyOwned, DatabaseUnavailable
from app.services.model.snapshots import TakeSnapshot
from app.services.registry.running import Running
from app.services.runtime.writer import LATER
from core import compile_all

if TYPE_CHECKING:
    from app.services.registry.service import Service

log = logging.getLogger(__name__)

WATCH_EVERY = 1.0  # seconds
KEEP_EVERY = 0.5  # seconds


class Housekeeping:
    """Three threads: one restores all projects, one trains and takes snapshots, one keeps owning the database."""

    def __init__(self, service: "Service") -> None:
        self._service = service
        self._due: queue.SimpleQueue[Running | None] = queue.SimpleQueue()
        self.restored = 0  # projects so far
        self.all_restored = False
        with service.database.read() as connection:
            self._ids = projects.every_id(connection)
        self._threads = [
            threading.Thread(target=self._restore_all, name="restorer", daemon=True),
            threading.Thread(target=self._watch, name="watcher", daemon=True),
            threading.Thread(target=self._keep_owning, name="keeper", daemon=True),
        ]

    @property
    def n_to_restore(self) -> int:
        """Projects that were there at the start."""
        return len(self._ids)

    def start(self) -> None:
        """Start the threads."""
        for thread in self._threads:
            thread.start()

    def join(self) -> None:
        """Wait for the threads of a service that is stopping."""
        self._due.put(None)  # the watcher need not wait
        for thread in self._threads:
            thread.join()

    def note_due(self, running: Running) -> None:
        """A training of this project may be due: the watcher begins it."""
        self._due.put(running)

    def _restore_all(self) -> None:
        """Open every project that was there at the start; what cannot be restored is left to whoever asks for it."""
        compile_all()
        self._service.when_compiled()
        for project_id in self._ids:
            while not self._service.stopping.is_set():
                try:
                    self._service.open(project_id)
                    break
                except DatabaseUnavailable:
                    self._service.stopping.wait(1.0)
                except LookupError:  # deleted in the meantime
                    break
                except Exception:
                    log.exception("project %s could not be restored", project_id)
                    break
            self.restored += 1
        self.all_restored = True

    def _watch(self) -> None:
        """Trainings that are due, and snapshots of what has changed, when there is time."""
        service = self._service
        while not service.stopping.is_set():
            with suppress(queue.Empty):
                self._begin_training(self._due.get(timeout=WATCH_EVERY))
            service.models.end_idle()
            for running in service.all_running():
                due = time.monotonic() >= running.snapshot_at + service.settings.snapshot_seconds
                if due and running.project.view.version != running.snapshot_of and not running.writer.waiting:
                    try:
                        version, arrays = running.writer.do(TakeSnapshot(running.project), LATER)
                        running.write_snapshot(service.snapshots, version, arrays)
                    except Exception:
                        log.exception("the snapshot of project %s could not be written", running.project.id)

    def _begin_training(self, running: Running | None) -> None:
        """The watcher goes on if the database does not take the job: the next label makes the training due again."""
        try:
            if running is not None:
                self._service.start_training(running, tune=True, requested=False)
        except Exception:
            log.exception("a training could not be begun")

    def _keep_owning(self) -> None:
        """A lost connection to the database may have let another process own it: take it back as soon as we can."""
        service, problem = self._service, ""
        while not service.stopping.wait(KEEP_EVERY):
            try:
                if not service.database.still_owned():
                    service.database.own_again()
                if service.database.is_suspended:
                    service.reload_all()
                    service.database.resume()
                    log.warning("the database is owned again, and everything was read again")
                    service.end_jobs("the server that ran the job has lost the database")
                problem = ""
            except Exception as error:
                if str(error) != problem:  # once, not twice a second
                    problem = str(error)
                    expected = isinstance(error, AlreadyOwned | DatabaseUnavailable)
                    log.warning("the database is not owned: %s", error, exc_info=not expected)
