"""Annotations of Label Studio: what it last said of each is kept, and what that means is written to the log of labels.

A repeat, an old message that comes late, or a whole export again changes nothing: only the state that results counts.
"""

import hashlib
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from app.db import keys
from app.db import label_studio as rows
from app.label_studio.label_config import LabelConfig
from app.label_studio.protocol import AnnotationSent, ExportedTask
from app.services.labelling.answers import predicted_classes, write_event
from app.services.project.ledger import Event, Kind
from app.services.project.state import Project
from app.services.runtime.clock import now
from app.services.runtime.writer import Task

AT_A_TIME = 500


def annotator_id(project_id: str, user: int) -> str:
    """The id among the annotators of a project of a person of Label Studio."""
    return hashlib.sha256(f"label-studio/{project_id}/{user}".encode()).hexdigest()[:32]


def add_annotators(connection: Connection, project_id: str, users: Iterable[int], names: dict[int, str]) -> None:
    """Make everybody who annotates an annotator here: a key that nobody holds, for the name."""
    for user in set(users):
        key_id = annotator_id(project_id, user)
        name = names.get(user) or (f"Label Studio user {user}" if user else "Label Studio")
        known = keys.get(connection, key_id)
        if known is None:
            row = {"id": key_id, "name": name, "role": "annotator", "project_id": project_id}
            keys.add(connection, row | {"digest": secrets.token_bytes(32), "created_at": now(), "revoked_at": now()})
        elif user in names and known.name != name:
            keys.rename(connection, key_id, name)


def store_annotations(
    connection: Connection,
    project_id: str,
    config: LabelConfig,
    sent: Sequence[AnnotationSent],
    exported_at: float | None = None,
) -> None:
    """Store annotations as Label Studio sends them: in a message, or in an export that was begun at a time."""
    known = rows.annotations_with(connection, project_id, [one.id for one in sent])
    for one in sent:
        if one.task is None:
            continue
        before = known.get(one.id)
        if before is not None and _is_old(one, before, exported_at):
            continue
        kind, label = one.answer(config)
        values: dict[str, Any] = {
            "project_id": project_id,
            "annotation": one.id,
            "task": one.task,
            "key_id": annotator_id(project_id, one.user),
            "kind": kind,
            "label": None if label is None else label.replace("\0", ""),
            "changed_at": one.changed_at,
            "heard_at": now(),
        }
        same = before is not None and all(getattr(before, name) == values[name] for name in ("kind", "label", "task"))
        rows.put_annotation(connection, values if same else values | {"state": "waiting"}, is_known=before is not None)


def _is_old(one: AnnotationSent, before: Any, exported_at: float | None) -> bool:
    if before.kind == "gone":
        return exported_at is None or before.heard_at >= exported_at
    return bool(before.changed_at > one.changed_at)


def mark_deleted(connection: Connection, project_id: str, ids: Iterable[int]) -> None:
    """Mark annotations as deleted; only their ids are known."""
    for row in rows.annotations_with(connection, project_id, ids).values():
        values = {"project_id": project_id, "annotation": row.annotation, "kind": "gone", "label": None}
        rows.put_annotation(connection, values | {"state": "waiting", "heard_at": now()}, is_known=True)


def store_export(
    connection: Connection, project_id: str, config: LabelConfig, tasks: Sequence[ExportedTask], begun: float
) -> None:
    """Store an export that was begun at a time: annotations that its tasks do not have any more are gone."""
    there = {one.id for task in tasks for one in task.annotations}
    known = list(rows.unchanged_since(connection, project_id, [task.id for task in tasks], begun))
    mark_deleted(connection, project_id, [row.annotation for row in known if row.annotation not in there])
    for task in tasks:
        if task.annotations:
            own = [one.model_copy(update={"task": task.id}) for one in task.annotations]
            store_annotations(connection, project_id, config, own, exported_at=begun)


@dataclass
class WriteAnnotations(Task):
    """Events for annotations that wait, some at a time; the answer is how many there were."""

    project: Project

    def prepare(self) -> None:
        """What the model predicts for the items."""
        with self.project.database.read() as connection:
            waiting = rows.waiting_annotations(connection, self.project.id, AT_A_TIME)
        items = dict.fromkeys(row.item for row in waiting)
        self._predicted = dict.fromkeys(items) | predicted_classes(self.project, list(items))

    def record(self, connection: Connection) -> None:
        """Write events and that they are written in one transaction; what came in since goes on waiting."""
        waiting = rows.waiting_annotations(connection, self.project.id, AT_A_TIME)
        waiting = [row for row in waiting if row.item in self._predicted]
        drawn = {row.item: bool(row.drawn) for row in waiting}
        refused = set()
        for item, key_id in dict.fromkeys((row.item, row.key_id) for row in waiting):
            if not self._write(connection, item, key_id, drawn[item]):
                refused.add((item, key_id))
        for state in ("written", "refused"):
            ids = [row.annotation for row in waiting if ((row.item, row.key_id) in refused) == (state == "refused")]
            rows.set_state(connection, self.project.id, ids, state)
        self.answer = len(waiting)

    def _write(self, connection: Connection, item: int, key_id: str, drawn: bool) -> bool:
        """Bring a person's answer to what their annotations say; False if that is no class of the project."""
        project = self.project
        own = rows.of_person(connection, project.id, item, key_id)
        last = next((row for kind in ("label", "skip") for row in own if row.kind == kind), None)
        standing = project.ledger.standing(item, key_id)
        number = project.classes.number(last.label) if last is not None and last.label is not None else None
        kind: Kind
        if last is None:
            if standing is None:
                return True
            kind = "retract"
        elif last.kind == "skip":
            if standing is not None and standing.kind == "skip":
                return True
            kind = "skip"
        elif number is None:
            return False
        elif standing is not None and standing.class_number is not None:
            if project.classes.resolve(standing.class_number) == number:
                return True
            kind = "relabel"
        else:
            kind = "label"
        event = Event(0, item, key_id, kind, number, self._predicted[item], drawn, asked=True)
        note = None if last is None else f"Label Studio annotation {last.annotation}"
        write_event(connection, project, event, actor=key_id, note=note)
        return True
