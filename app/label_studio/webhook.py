"""Messages of Label Studio's webhook, and what each of them means."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from app.label_studio.link import Link
from app.label_studio.links import LabelStudio
from app.label_studio.protocol import AnnotationSent, TaskSent
from app.services.problems import Problem
from app.services.registry.service import Service

ANNOTATED = ("ANNOTATION_CREATED", "ANNOTATION_UPDATED", "ANNOTATIONS_CREATED")
DELETED = ("ANNOTATION_DELETED", "ANNOTATIONS_DELETED")


@dataclass(frozen=True)
class Message:
    """One message, with lists where there may be one or many."""

    action: str
    annotations: Sequence[AnnotationSent]
    tasks: Sequence[TaskSent]
    gone: Sequence[int]  # annotations that were deleted
    remote_project: int | None
    label_config: str | None


def receive(link: Link, links: LabelStudio, service: Service, message: Message) -> dict[str, str | None]:
    """Keep what a message says, so that it cannot be lost, and tell what became of it."""
    if not link.is_ours(message.remote_project):
        return {"status": "another project's"}
    if message.label_config is not None and (link.config is None or message.action == "PROJECT_UPDATED"):
        with suppress(Problem):  # the link shows it; labels of the old config stay what they are
            link.set_up(message.label_config, message.remote_project)
    if message.action in ANNOTATED:
        link.receive_tasks(message.tasks)
        link.receive_annotations(message.annotations)
    elif message.action in DELETED:
        link.receive_deleted_annotations([*message.gone, *(one.id for one in message.annotations)])
    elif message.action == "TASKS_CREATED":
        link.receive_tasks(message.tasks)
    elif message.action == "TASKS_DELETED":
        link.receive_deleted_tasks([task.id for task in message.tasks])
    elif message.action == "START_TRAINING":
        return {"status": "begun", "job": _start_training(link, links, service)}
    else:
        return {"status": "nothing to do"}
    return {"status": "kept"}


def _start_training(link: Link, links: LabelStudio, service: Service) -> str | None:
    """No annotations come with it: whatever was missed is fetched, then the model is tuned."""
    job = links.sync(link.project_id) if link.pushes else None
    training = service.start_training(service.running(link.project_id), tune=True)
    return job or training
