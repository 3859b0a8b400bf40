"""The service: one process that owns the models of a database."""

import logging
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.db import jobs, projects
from app.db.database import Database, DatabaseUnavailable, OwnershipLost
from app.db.migrate import is_current, migrate
from app.services.access import Access
from app.services.budgets import Budgets
from app.services.encoding.embedding import PretrainedModels
from app.services.items.media import Media
from app.services.model import training
from app.services.model.restoring import ReadAgain, restore_model
from app.services.model.snapshots import snapshot_path, take_snapshot
from app.services.problems import NotFound, Problem, Unavailable
from app.services.project.state import Project
from app.services.registry.housekeeping import Housekeeping
from app.services.registry.running import TRY_AGAIN, Running
from app.services.runtime.clock import now
from app.services.runtime.jobs import JobRunner, Progress, Work
from app.services.runtime.mapped_files import LargeArrays
from app.services.runtime.writer import Writer
from app.settings import ServiceSettings
from core import share_cores

if TYPE_CHECKING:
    from app.cluster.cluster import Cluster

log = logging.getLogger(__name__)


class Service:
    """Start it, ask it for projects, stop it."""

    def __init__(self, settings: ServiceSettings, when_compiled: Callable[[], None] = lambda: None) -> None:
        share_cores()  # between requests, projects and jobs
        self.settings, self.when_compiled = settings, when_compiled
        self.models = PretrainedModels(settings.text_model, settings.picture_model, downloads=settings.model_downloads)
        settings.data_dir.mkdir(parents=True, exist_ok=True)
        self.database = Database(settings.database_url)
        self.jobs = JobRunner(self.database, settings.job_threads)
        try:
            self.database.own(settings.data_dir)
            if not is_current(self.database):
                migrate(self.database)
            self.end_jobs("the service stopped while the job ran")
            for left in self.uploads.glob("*"):  # their jobs have just been given up
                shutil.rmtree(left) if left.is_dir() else left.unlink()
        except BaseException:
            self.jobs.stop()
            self.database.close()
            raise
        self.access = Access(self.database)
        self.cluster = _cluster(settings)
        self._running: dict[str, Running] = {}
        self._loading = threading.Lock()
        self.stopping = threading.Event()
        self.housekeeping = Housekeeping(self)

    @property
    def snapshots(self) -> Path:
        """The folder of snapshots."""
        return self.settings.data_dir / "snapshots"

    @property
    def arrays(self) -> LargeArrays:
        """Coded items that are mapped into memory."""
        return LargeArrays(self.settings.data_dir / "pools", self.settings.map_above)

    @property
    def uploads(self) -> Path:
        """The folder of uploaded files that wait to be read."""
        return self.settings.data_dir / "uploads"

    @property
    def media(self) -> Media:
        """Pictures of items."""
        return Media(self.settings.data_dir / "media", self.settings.max_pixels)

    @property
    def is_ready(self) -> bool:
        """Whether every model is back."""
        return self.housekeeping.all_restored and not self.stopping.is_set()

    def check_database(self) -> None:
        """Raise DatabaseUnavailable unless the database answers and its models are ours."""
        self.database.ping()
        if not self.database.still_owned() or self.database.is_suspended:
            raise OwnershipLost("another process may own the models by now")

    def start(self) -> None:
        """Restore the models, and look after them."""
        self.housekeeping.start()

    def stop(self) -> None:
        """Finish what was begun, leave snapshots, let go."""
        self.stopping.set()
        self.housekeeping.join()
        self.jobs.stop()
        self.models.close()
        for running in list(self._running.values()):
            running.wait_for_training()
            running.writer.stop()
            running.write_snapshot(self.snapshots, running.project.version, take_snapshot(running.project))
        if self.cluster is not None:
            self.cluster.close()
        self.database.close()

    def in_memory(self, project_id: str) -> Running | None:
        """A project that needs no waiting."""
        return self._running.get(project_id)

    def running(self, project_id: str) -> Running:
        """A project that is not deleted, restored if need be."""
        found = self._running.get(project_id)
        if found is not None:
            return found
        with self.database.read() as connection:
            if projects.get(connection, project_id) is None:
                raise NotFound("there is no such project")
        if not self.is_ready:
            raise Unavailable("the service is starting; models are being restored", retry_after=2)
        try:
            return self.open(project_id)
        except LookupError as error:  # deleted in the meantime
            raise NotFound("there is no such project") from error

    def all_running(self) -> list[Running]:
        """All projects in memory."""
        return list(self._running.values())

    def forget(self, project_id: str) -> None:
        """A project was deleted: only the database keeps anything of it."""
        running = self.drop(project_id)
        if running is not None:
            running.writer.stop(lambda: NotFound("there is no such project"))
            snapshot_path(running.project, self.snapshots).unlink(missing_ok=True)
        self.media.remove(project_id)

    def drop(self, project_id: str) -> Running | None:
        """Take a project out of memory, also one that is being opened."""
        with self._loading:
            return self._running.pop(project_id, None)

    def train_if_due(self, running: Running) -> None:
        """Train where that is due; costs nothing where it is not."""
        if running.training is None and not running.imports and training.is_due(running.project):
            self.housekeeping.note_due(running)

    def start_training(self, running: Running, *, tune: bool, requested: bool = True) -> str | None:
        """A training job; one at a time for each project. Unless it was `requested`, not too soon after one failed."""
        with running.lock:
            if self.stopping.is_set() or (running.training is not None and self.jobs.is_active(running.training)):
                return running.training
            too_soon = time.monotonic() < running.failed_at + TRY_AGAIN
            if not requested and (too_soon or not training.is_due(running.project)):
                return None
            running.training = self.jobs.start(running.project.id, "train", self._training(running, tune))
            return running.training

    def _training(self, running: Running, tune: bool) -> Work:
        def work(progress: Progress) -> dict[str, Any]:
            try:
                return running.train(progress, tune=tune)
            except BaseException:
                running.failed_at = time.monotonic()
                raise
            finally:
                with running.lock:  # not before start_training() has written it down
                    if running.training == progress.job_id:  # else it was cancelled while it waited
                        running.training = None

        return work

    def reload_all(self) -> None:
        """Read all projects in memory again; a writer that still works on what it knew before ends that first."""
        with self._loading:  # who opens a project from now on reads what is there now
            found = self.all_running()
        reading = [(one, one.writer.submit(ReadAgain(one.project, self.snapshots))) for one in found]
        for running, future in reading:
            try:
                future.result()
            except (DatabaseUnavailable, Problem):
                raise
            except LookupError:  # deleted by somebody else
                self.forget(running.project.id)
            except Exception:
                log.exception("project %s could not be read again", running.project.id)
                self.drop(running.project.id)  # who needs it opens it again
                running.writer.stop()

    def open(self, project_id: str) -> Running:
        """Read a project and restore its model, if that was not done yet."""
        with self._loading:
            found = self._running.get(project_id)
            if found is None:
                budgets = Budgets.of(self.settings)
                project = Project(self.database, project_id, self.arrays, self.cluster, budgets, self.models)
                project.reload()
                restore_model(project, self.snapshots)
                project.publish()
                writer = Writer(project)
                found = self._running[project_id] = Running(project, writer, snapshot_of=project.version)
        return found

    def end_jobs(self, message: str) -> None:
        """Write that jobs have ended which nobody works on any more."""
        with self.database.write() as connection:
            jobs.fail_unfinished(connection, message, now(), but=self.jobs.unfinished)


def _cluster(settings: ServiceSettings) -> "Cluster | None":
    """The cluster of the settings; nothing of Dask is imported without one."""
    if settings.dask is None:
        return None
    try:
        from app.cluster.cluster import Cluster, security_of
    except ImportError as error:
        raise ValueError("ASKNEXT_DASK needs Dask: pip install 'asknext[dask]'") from error
    return Cluster(settings.dask, security=security_of(settings.dask_ca, settings.dask_cert, settings.dask_key))
