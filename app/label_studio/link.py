"""A link between a project and one of Label Studio's: what is sent is kept at once, and worked on by a thread."""

import hmac
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from app.label_studio.label_config import LabelConfig, read_config
from app.label_studio.mirror import Mirror
from app.label_studio.protocol import AnnotationSent, TaskSent
from app.label_studio.pushing import item_predictions, version_name
from app.label_studio.remote import Remote
from app.label_studio.worker import Worker
from app.services.problems import Conflict, Invalid, NotFound
from app.services.registry.service import Service
from app.services.runtime.jobs import Progress


class Link:
    """What the routes do with a link; its worker does the rest."""

    def __init__(self, service: Service, row: Any) -> None:
        self._service, self.project_id, self._digest = service, row.project_id, bytes(row.digest)
        self._mirror = Mirror(service.database, row.project_id)
        self._config_text: str | None = None
        self._refused: str | None = None  # why the last label config cannot be served
        self._unusable: str | None = None  # why Label Studio is not called, though there is an address
        self._worker = Worker(service, self._mirror, row, self._remote(row), self.set_up)
        with suppress(Invalid):  # of a version that took what this one does not
            if row.label_config is not None:
                self._worker.config, self._config_text = read_config(row.label_config), row.label_config

    def _remote(self, row: Any) -> Remote | None:
        try:
            return Remote(row.address, row.token) if row.address and row.token else None
        except Invalid as problem:  # of a version that took what this one does not
            self._unusable = problem.detail
            return None

    def start(self) -> None:
        """Begin to work on what Label Studio has sent."""
        self._mirror.reload()
        self._worker.start()

    def stop(self) -> None:
        """End when the round that is going on has ended; a call to Label Studio is cut off."""
        self._worker.stop()

    def opens_with(self, digest: bytes) -> bool:
        """Whether this is the secret of its address."""
        return hmac.compare_digest(self._digest, digest)

    def work(self) -> "Future[None]":
        """Ask for a round of work; done when one is over that began after this."""
        return self._worker.request_round()

    @property
    def config(self) -> LabelConfig | None:
        """The label config, once Label Studio has sent one that can be served."""
        return self._worker.config

    @property
    def pushes(self) -> bool:
        """Whether Label Studio can be called, too."""
        return self._worker.remote is not None

    @property
    def version(self) -> str:
        """The version of the model that answers now."""
        running = self._service.in_memory(self.project_id)
        return version_name(running.project.view.version if running is not None else 0)

    def versions(self) -> list[str]:
        """Versions that Label Studio may have predictions of."""
        pushed = self._worker.pushed
        return list(dict.fromkeys([*([] if pushed is None else [version_name(pushed)]), self.version]))

    def is_ours(self, remote_project: int | None) -> bool:
        """Whether a message is about the project that this link is with."""
        return remote_project is None or self._worker.remote_project in (None, remote_project)

    def set_up(self, label_config: str, remote_project: int | None) -> str:
        """Check a label config and keep it; the version of the model."""
        if not self.is_ours(remote_project):
            raise Conflict(
                f"this address is for project {self._worker.remote_project} of Label Studio: create another link"
            )
        if self._worker.remote_project is None and remote_project is not None:
            self._mirror.change_link(remote_project=remote_project)
            self._worker.remote_project = remote_project
        if label_config != self._config_text:
            config = self._checked(label_config)
            self._mirror.change_link(label_config=label_config)
            self._worker.config, self._config_text = config, label_config
            self.work()
        return self.version

    def receive_tasks(self, tasks: Sequence[TaskSent]) -> None:
        """Keep tasks that are not known yet."""
        self._mirror.keep_tasks(tasks)

    def receive_deleted_tasks(self, ids: Sequence[int]) -> None:
        """Forget tasks that were deleted: nobody is asked about them any more."""
        self._mirror.drop_tasks(ids)

    def receive_annotations(self, annotations: Sequence[AnnotationSent]) -> None:
        """Keep what was said; without a label config nobody knows what it means, and a sync brings it again."""
        if self.config is not None:
            self._mirror.keep_annotations(self.config, annotations)

    def receive_deleted_annotations(self, ids: Sequence[int]) -> None:
        """Keep that annotations were deleted."""
        self._mirror.drop_annotations(ids)

    def are_known(self, tasks: Sequence[TaskSent]) -> bool:
        """Whether all of them are items."""
        return all(task.id in self._mirror.items for task in tasks)

    def predict(self, tasks: Sequence[TaskSent]) -> list[dict[str, Any]]:
        """One prediction for each task, from the published model."""
        if self.config is None:
            raise Conflict("Label Studio has not sent its label config yet")
        view = self._service.running(self.project_id).project.view
        found = item_predictions(view, self.config, [self._mirror.items.get(task.id) for task in tasks])
        return [entry | {"model_version": version_name(view.version)} for entry in found]

    def sync(self, progress: Progress) -> dict[str, Any]:
        """Bring everything from Label Studio that is not known here, and learn it."""
        self._worker.sync(progress)
        return self._mirror.counts()

    def describe(self) -> dict[str, Any]:
        """How it goes, without secrets."""
        row, broken = self._mirror.link()
        if row is None:
            raise NotFound("this project is not linked to Label Studio")
        return self._mirror.counts() | {
            "address": row.address,
            "remote_project": row.remote_project,
            "pushes": self.pushes,
            "top": row.top,
            "classes": list(self.config.classes) if self.config is not None else None,
            "pushed_version": None if row.pushed_version is None else version_name(row.pushed_version),
            "pushed_at": row.pushed_at,
            "synced_at": row.synced_at,
            "problem": self._unusable or self._refused or self._worker.problem,
            "broken": broken,
            "created_at": row.created_at,
        }

    def _checked(self, label_config: str) -> LabelConfig:
        try:
            config = read_config(label_config)
            self._check_fit(config)
        except Invalid as problem:
            self._refused = problem.detail
            raise
        self._refused = None
        return config

    def _check_fit(self, config: LabelConfig) -> None:
        """Raise Invalid unless the project can have these classes, and make features of what the tasks show."""
        project = self._service.running(self.project_id).project
        known = set(project.classes.names.values())
        missing = [name for name in config.classes if name not in known]
        if missing and known and not project.settings.open_classes:
            raise Invalid(
                f"{len(missing)} of the choices are not classes of the AskNext project, whose classes are "
                f"{', '.join(project.classes.active()[:20])}: add them there, or set open_classes"
            )
        rule = project.encoder.kind if project.encoder is not None else project.settings.encoder
        if rule == "none":
            return
        if config.kind is None:
            raise Invalid(
                f"AskNext encodes texts and pictures; for <{config.tag[:40]}> use a project whose items have features, "
                "and name their keys in the field key of each task"
            )
        if rule not in ("auto", config.kind):
            raise Invalid(f"the items of the AskNext project are of kind {rule}; the label config shows {config.kind}")
