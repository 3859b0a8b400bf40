"""What Label Studio has, kept here: tasks with their items, and annotations as it sent them last."""

from collections.abc import Sequence
from typing import Any

from app.db import label_studio as rows
from app.db.database import Database
from app.label_studio.annotations import add_annotators, mark_deleted, store_annotations, store_export
from app.label_studio.label_config import LabelConfig
from app.label_studio.protocol import AnnotationSent, ExportedTask, TaskSent

STORED_AT_ONCE = 500  # tasks of a transaction


class Mirror:
    """What one project of Label Studio has; what is kept here is on the disk when the call returns."""

    def __init__(self, database: Database, project_id: str) -> None:
        self._database, self._id = database, project_id
        self.items: dict[int, int] = {}  # by task

    def reload(self) -> None:
        """Read again which items tasks have by now."""
        with self._database.read() as connection:
            self.items = rows.items_of_tasks(connection, self._id)

    def keep_tasks(self, tasks: Sequence[TaskSent]) -> None:
        """Keep those tasks that are not known yet."""
        new = {task.id: task.data for task in tasks if task.data is not None and task.id not in self.items}
        if new:
            with self._database.write() as connection:
                rows.add_tasks(connection, self._id, new)

    def drop_tasks(self, ids: Sequence[int]) -> None:
        """Forget tasks: nobody is asked about them any more."""
        with self._database.write() as connection:
            rows.remove_tasks(connection, self._id, list(ids))
        self.items = {task: item for task, item in self.items.items() if task not in set(ids)}

    def keep_annotations(self, config: LabelConfig, sent: Sequence[AnnotationSent]) -> None:
        """What people sent."""
        with self._database.write() as connection:
            add_annotators(connection, self._id, [one.user for one in sent], {})
            store_annotations(connection, self._id, config, sent)

    def drop_annotations(self, ids: Sequence[int]) -> None:
        """What they took back."""
        with self._database.write() as connection:
            mark_deleted(connection, self._id, ids)

    def keep_export(
        self, config: LabelConfig, tasks: Sequence[ExportedTask], names: dict[int, str], begun: float, known: set[int]
    ) -> None:
        """A whole project, by an export that was begun when these tasks were known."""
        for first in range(0, len(tasks), STORED_AT_ONCE):
            part = tasks[first : first + STORED_AT_ONCE]
            with self._database.write() as connection:
                rows.add_tasks(connection, self._id, {task.id: task.data for task in part if task.data is not None})
                add_annotators(connection, self._id, [one.user for task in part for one in task.annotations], names)
                store_export(connection, self._id, config, part, begun)
        self.drop_tasks(sorted(known - {task.id for task in tasks}))
        with self._database.write() as connection:
            rows.retry_refused(connection, self._id)

    def has_answers(self) -> bool:
        """Whether annotations wait to become labels."""
        with self._database.read() as connection:
            return bool(rows.waiting_annotations(connection, self._id, 1))

    def touched_tasks(self) -> set[int]:
        """Tasks of which somebody sent something, be it that they skip it."""
        with self._database.read() as connection:
            return rows.touched_tasks(connection, self._id)

    def note_push(self, version: int, drawn: Sequence[int], time: float) -> None:
        """Keep which version chooses the next task, and which tasks were drawn at random."""
        with self._database.write() as connection:
            rows.set_drawn(connection, self._id, drawn)
            rows.change_link(connection, self._id, pushed_version=version, pushed_at=time)

    def change_link(self, **values: Any) -> None:
        """New values of the link."""
        with self._database.write() as connection:
            rows.change_link(connection, self._id, **values)

    def counts(self) -> dict[str, int]:
        """Tasks and annotations, and what waits."""
        with self._database.read() as connection:
            return rows.counts(connection, self._id)

    def link(self) -> tuple[Any, list[dict[str, Any]]]:
        """The row of the link, and some of its broken tasks."""
        with self._database.read() as connection:
            broken = rows.broken_tasks(connection, self._id, 20)
            return rows.link(connection, self._id), [{"task": row.task, "reason": row.problem} for row in broken]
