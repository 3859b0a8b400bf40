"""The service: one process that owns the models of a database."""

import logging
import queue
import shutil
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.db import jobs, projects
from app.db.database import AlreadyOwned, Database, DatabaseUnavailable, OwnershipLost
from app.db.migrate import is_current, migrate
from app.services import training
from app.services.access import Access
from app.services.budgets import Budgets
from app.services.clock import now
from app.services.job_runner import JobRunner, Progress, Work
from app.services.mapped import LargeArrays
from app.services.media import Media
from app.services.pool_map import PoolMap
from app.services.problems import NotFound, Problem, Unavailable
from app.services.project import Project
from app.services.restoring import path_of, restore_model, take_snapshot, write_snapshot
from app.services.turns import LATER, Task, Writer
from app.settings import ServiceSettings
from core import compile_all, share_cores

if TYPE_CHECKING:
    from app.cluster.connection import Cluster

log = logging.getLogger(__name__)

TRY_AGAIN = 60.0  # seconds after a training that failed
WATCH_EVERY = 1.0
KEEP_EVERY = 0.5
WAIT_FOR_TRAINING = 0.2  # seconds between looks whether the job was cancelled


@dataclass
class Running:
    """A project in memory, its writer, and what is going on in the background."""

    project: Project
    writer: Writer
    training: str | None = None  # the job
    imports: int = 0  # that are running; change it with `importing`
    failed_at: float = -TRY_AGAIN
    snapshot_at: float = 0.0
    snapshot_of: int = 0  # version
    pool_map: PoolMap = field(default_factory=PoolMap)
    lock: threading.Lock = field(default_factory=threading.Lock)
    _one_training: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def importing(self) -> Iterator[None]:
        """No training is begun meanwhile: one follows at the end."""
        with self.lock:
            self.imports += 1
        try:
            yield
        finally:
            with self.lock:
                self.imports -= 1

    def train(self, progress: Progress, *, tune: bool) -> dict[str, Any]:
        """Train for a job, once the training that is going on has ended.

        Not in the thread of the job: a factorisation takes as long as it takes, and who cancels does not wait for it.
        It ends at its next step; no other training begins before.
        """
        while not self._one_training.acquire(timeout=WAIT_FOR_TRAINING):
            progress.tell(0, None, "waiting for another training to end")
        pool = ThreadPoolExecutor(1, f"training-{self.project.id}")
        try:
            work = pool.submit(training.train, self.project, self.writer, progress, tune=tune)
        except BaseException:
            self._one_training.release()
            raise
        finally:
            pool.shutdown(wait=False)
        work.add_done_callback(lambda _: self._one_training.release())
        result: dict[str, Any] = progress.wait_for(work)
        return result

    def wait_for_training(self) -> None:
        """Until none is going on, also of a job that was cancelled."""
        with self._one_training:
            pass


@dataclass
class TakeSnapshot(Task):
    """The model as arrays, between two turns."""

    project: Project

    def choose(self) -> None:
        """Cheap: arrays are shared, not copied."""
        self.answer = self.project.version, take_snapshot(self.project)


@dataclass
class ReadAgain(Task):
    """Others may have written: everything is read again, and the model brought up to date."""

    project: Project
    snapshots: Path

    def choose(self) -> None:
        """From the database alone."""
        self.project.reload()
        restore_model(self.project, self.snapshots)


class Service:
    """Start it, ask it for projects, stop it."""

    def __init__(self, settings: ServiceSettings) -> None:
        share_cores()  # between requests, projects and jobs
        self.settings = settings
        settings.data_dir.mkdir(parents=True, exist_ok=True)
        self.database = Database(settings.database_url)
        self.jobs = JobRunner(self.database, settings.job_threads)
        try:
            self.database.own(settings.data_dir)
            if not is_current(self.database):
                migrate(self.database)
            self._end_jobs("the service stopped while the job ran")
            for left in self.uploads.glob("*"):  # their jobs have just been given up
                shutil.rmtree(left) if left.is_dir() else left.unlink()
        except BaseException:
            self.jobs.stop()
            self.database.close()
            raise
        self.access = Access(self.database)
        self.cluster = _cluster(settings)
        self._running: dict[str, Running] = {}
        self._due: queue.SimpleQueue[Running | None] = queue.SimpleQueue()
        self._loading = threading.Lock()
        self.stopping = threading.Event()
        self.restored = 0
        self._all_restored = False
        with self.database.read() as connection:
            self._to_restore = projects.every_id(connection)
        self._restorer = threading.Thread(target=self._restore_all, name="restorer", daemon=True)
        self._watcher = threading.Thread(target=self._watch, name="watcher", daemon=True)
        self._keeper = threading.Thread(target=self._keep_owning, name="keeper", daemon=True)

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
        return Media(self.settings.data_dir / "media")

    @property
    def is_ready(self) -> bool:
        """Whether every model is back."""
        return self._all_restored and not self.stopping.is_set()

    @property
    def n_to_restore(self) -> int:
        """Projects that were there at the start."""
        return len(self._to_restore)

    def check_database(self) -> None:
        """Raise DatabaseUnavailable unless the database answers and its models are ours."""
        self.database.ping()
        if not self.database.still_owned() or self.database.is_suspended:
            raise OwnershipLost("another process may own the models by now")

    def start(self) -> None:
        """Restore the models, and look after them."""
        self._restorer.start()
        self._watcher.start()
        self._keeper.start()

    def stop(self) -> None:
        """Finish what was begun, leave snapshots, let go."""
        self.stopping.set()
        self._due.put(None)  # the watcher need not wait
        self._restorer.join()
        self._watcher.join()
        self._keeper.join()
        self.jobs.stop()
        for running in list(self._running.values()):
            running.wait_for_training()
            running.writer.stop()
            self._write_snapshot(running, running.project.version, take_snapshot(running.project))
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

    def every_running(self) -> list[Running]:
        """All projects in memory."""
        return list(self._running.values())

    def forget(self, project_id: str) -> None:
        """A project was deleted: only the database keeps anything of it."""
        running = self._drop(project_id)
        if running is not None:
            running.writer.stop(lambda: NotFound("there is no such project"))
            path_of(running.project, self.snapshots).unlink(missing_ok=True)
        self.media.remove(project_id)

    def _drop(self, project_id: str) -> Running | None:
        """Take a project out of memory, also one that is being opened."""
        with self._loading:
            return self._running.pop(project_id, None)

    def look_after(self, running: Running) -> None:
        """Train where that is due; costs nothing where it is not."""
        if running.training is None and not running.imports and training.is_due(running.project):
            self._due.put(running)

    def train(self, running: Running, *, tune: bool, wanted: bool = True) -> str | None:
        """A training job; one at a time for each project. Without being `wanted`, not too soon after one failed."""
        with running.lock:
            if self.stopping.is_set() or (running.training is not None and self.jobs.is_wanted(running.training)):
                return running.training
            too_soon = time.monotonic() < running.failed_at + TRY_AGAIN
            if not wanted and (too_soon or not training.is_due(running.project)):
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
                with running.lock:  # not before train() has written it down
                    if running.training == progress.job_id:  # else it was cancelled while it waited
                        running.training = None

        return work

    def open(self, project_id: str) -> Running:
        """Read a project and restore its model, if that was not done yet."""
        with self._loading:
            found = self._running.get(project_id)
            if found is None:
                budgets = Budgets.of(self.settings)
                project = Project(self.database, project_id, self.arrays, self.cluster, budgets)
                project.reload()
                restore_model(project, self.snapshots)
                project.publish()
                writer = Writer(project)
                found = self._running[project_id] = Running(project, writer, snapshot_of=project.version)
        return found

    def _restore_all(self) -> None:
        compile_all()
        for project_id in self._to_restore:
            while not self.stopping.is_set():
                try:
                    self.open(project_id)
                    break
                except DatabaseUnavailable:
                    self.stopping.wait(1.0)
                except LookupError:  # deleted in the meantime
                    break
                except Exception:
                    log.exception("project %s could not be restored", project_id)
                    break
            self.restored += 1
        self._all_restored = True

    def _keep_owning(self) -> None:
        """A lost connection to the database may have let another process own it: take it back as soon as we can."""
        problem = ""
        while not self.stopping.wait(KEEP_EVERY):
            try:
                if not self.database.still_owned():
                    self.database.own_again()
                if self.database.is_suspended:
                    self._read_all_again()
                    self.database.resume()
                    log.warning("the database is owned again, and everything was read again")
                    self._end_jobs("the server that ran the job has lost the database")
                problem = ""
            except Exception as error:
                if str(error) != problem:  # once, not twice a second
                    problem = str(error)
                    expected = isinstance(error, AlreadyOwned | DatabaseUnavailable)
                    log.warning("the database is not owned: %s", error, exc_info=not expected)

    def _read_all_again(self) -> None:
        """What the projects in memory are by now; a writer that still works on what it knew before ends that first."""
        with self._loading:  # who opens a project from now on reads what is there now
            found = self.every_running()
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
                self._drop(running.project.id)  # who needs it opens it again
                running.writer.stop()

    def _end_jobs(self, message: str) -> None:
        """Jobs that nobody works on any more."""
        with self.database.write() as connection:
            jobs.fail_unfinished(connection, message, now(), but=self.jobs.unfinished)

    def _watch(self) -> None:
        """Trainings that are due, and snapshots of what has changed, when there is time."""
        while not self.stopping.is_set():
            with suppress(queue.Empty):
                self._begin_training(self._due.get(timeout=WATCH_EVERY))
            for running in self.every_running():
                due = time.monotonic() >= running.snapshot_at + self.settings.snapshot_seconds
                if due and running.project.view.version != running.snapshot_of and not running.writer.waiting:
                    try:
                        self._write_snapshot(running, *running.writer.do(TakeSnapshot(running.project), LATER))
                    except Exception:
                        log.exception("the snapshot of project %s could not be written", running.project.id)

    def _begin_training(self, running: Running | None) -> None:
        """The watcher goes on if the database does not take the job: the next label makes the training due again."""
        try:
            if running is not None:
                self.train(running, tune=True, wanted=False)
        except Exception:
            log.exception("a training could not be begun")

    def _write_snapshot(self, running: Running, version: int, arrays: dict[str, Any] | None) -> None:
        """A snapshot only makes the next start fast: without room for it all goes on, and a stop is a stop."""
        running.snapshot_at = time.monotonic()
        if arrays is None:
            return
        try:
            write_snapshot(path_of(running.project, self.snapshots), arrays)
            running.snapshot_of = version
        except OSError:
            log.exception("the snapshot of project %s could not be written", running.project.id)


def _cluster(settings: ServiceSettings) -> "Cluster | None":
    """The cluster of the settings; nothing of Dask is imported without one."""
    if settings.dask is None:
        return None
    try:
        from app.cluster.connection import Cluster, security_of
    except ImportError as error:
        raise ValueError("ASKNEXT_DASK needs Dask: pip install 'asknext[dask]'") from error
    return Cluster(settings.dask, security=security_of(settings.dask_ca, settings.dask_cert, settings.dask_key))
