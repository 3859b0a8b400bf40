"""A project that is open: in memory, with its writer, and one training at a time."""

import logging
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.services.model import training
from app.services.model.map import PoolMap
from app.services.model.snapshots import snapshot_path, write_snapshot
from app.services.project.state import Project
from app.services.runtime.jobs import Progress
from app.services.runtime.writer import Writer

log = logging.getLogger(__name__)

TRY_AGAIN = 60.0  # seconds after a training that failed
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
            progress.report(0, None, "waiting for another training to end")
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
        """Wait until no training is going on, also of a job that was cancelled."""
        with self._one_training:
            pass

    def write_snapshot(self, folder: Path, version: int, arrays: dict[str, Any] | None) -> None:
        """Write a snapshot, which only makes the next start fast: without room for it all goes on."""
        self.snapshot_at = time.monotonic()
        if arrays is None:
            return
        try:
            write_snapshot(snapshot_path(self.project, folder), arrays)
            self.snapshot_of = version
        except OSError:
            log.exception("the snapshot of project %s could not be written", self.project.id)
