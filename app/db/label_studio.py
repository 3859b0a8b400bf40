"""Links to Label Studio, its tasks, and its annotations as it last told them."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from app.db.items import CHUNK
from app.db.tables import label_studio_annotations as annotations
from app.db.tables import label_studio_links as links
from app.db.tables import label_studio_tasks as tasks
from app.db.tables import projects


def put_link(connection: Connection, values: dict[str, Any]) -> None:
    """A new link, instead of the one that the project may have."""
    remove_link(connection, values["project_id"])
    connection.execute(insert(links).values(**values))


def remove_link(connection: Connection, project_id: str) -> None:
    """Tasks and annotations stay known, so that a new link with the same project begins where this one ends."""
    connection.execute(delete(links).where(links.c.project_id == project_id))


def forget_all(connection: Connection, project_id: str) -> None:
    """Tasks and annotations of a project that is not linked any more; items and labels stay."""
    for table in (tasks, annotations):
        connection.execute(delete(table).where(table.c.project_id == project_id))


def change_link(connection: Connection, project_id: str, **values: Any) -> None:
    """New values of a link."""
    connection.execute(update(links).where(links.c.project_id == project_id).values(**values))


def link(connection: Connection, project_id: str) -> Row[Any] | None:
    """The link of a project."""
    return connection.execute(select(links).where(links.c.project_id == project_id)).one_or_none()


def every_link(connection: Connection) -> Sequence[Row[Any]]:
    """The links of all projects that are not deleted."""
    query = select(links).join(projects, projects.c.id == links.c.project_id)
    return connection.execute(query.where(projects.c.deleted_at.is_(None))).all()


def add_tasks(connection: Connection, project_id: str, data: dict[int, Any]) -> None:
    """Tasks that are not known yet wait for their items; broken ones wait again."""
    known = _found(connection, tasks.c.task, project_id, data)
    broken = [task for task, row in known.items() if row.problem is not None and row.item is None]
    for first in range(0, len(broken), CHUNK):
        chosen = tasks.c.task.in_(broken[first : first + CHUNK])
        connection.execute(update(tasks).where(tasks.c.project_id == project_id, chosen).values(problem=None))
    new = [
        {"project_id": project_id, "task": task, "data": one, "drawn": False}
        for task, one in data.items()
        if task not in known
    ]
    if new:
        connection.execute(insert(tasks), new)


def waiting_tasks(connection: Connection, project_id: str, limit: int) -> Sequence[Row[Any]]:
    """Tasks without items, but for broken ones."""
    query = select(tasks).where(tasks.c.project_id == project_id, tasks.c.item.is_(None), tasks.c.problem.is_(None))
    return connection.execute(query.order_by(tasks.c.task).limit(limit)).all()


def items_of_tasks(connection: Connection, project_id: str) -> dict[int, int]:
    """The item of each task that has one."""
    query = select(tasks.c.task, tasks.c.item).where(tasks.c.project_id == project_id, tasks.c.item.is_not(None))
    return {row.task: row.item for row in connection.execute(query)}


def touched_tasks(connection: Connection, project_id: str) -> set[int]:
    """Tasks with annotations, skips and empty ones too."""
    query = select(annotations.c.task).where(annotations.c.project_id == project_id, annotations.c.kind != "gone")
    return set(connection.scalars(query.distinct()))


def set_task_outcome(
    connection: Connection, project_id: str, task: int, *, item: int | None, problem: str | None
) -> None:
    """What became of a task that waited."""
    query = update(tasks).where(tasks.c.project_id == project_id, tasks.c.task == task)
    connection.execute(query.values(item=item, problem=problem) if item is None else query.values(item=item, data=None))


def remove_tasks(connection: Connection, project_id: str, gone: Sequence[int]) -> None:
    """Nobody is asked about them any more; labels that came of them stay."""
    for first in range(0, len(gone), CHUNK):
        part = gone[first : first + CHUNK]
        for table in (tasks, annotations):
            connection.execute(delete(table).where(table.c.project_id == project_id, table.c.task.in_(part)))


def set_drawn(connection: Connection, project_id: str, drawn: Sequence[int]) -> None:
    """Which tasks were last chosen by lot, and no others."""
    own = tasks.c.project_id == project_id
    connection.execute(update(tasks).where(own, tasks.c.drawn.is_(True)).values(drawn=False))
    if drawn:
        connection.execute(update(tasks).where(own, tasks.c.task.in_(drawn)).values(drawn=True))


def counts(connection: Connection, project_id: str) -> dict[str, int]:
    """Tasks, and what waits or could not be used."""
    own = tasks.c.project_id == project_id
    states = select(annotations.c.state, func.count()).where(annotations.c.project_id == project_id)
    by_state: dict[str, int] = dict(connection.execute(states.group_by(annotations.c.state)).all())

    def number(*conditions: Any) -> int:
        query = select(func.count()).select_from(tasks).where(own, *conditions)
        return int(connection.execute(query).scalar_one())

    return {
        "tasks": number(),
        "waiting_tasks": number(tasks.c.item.is_(None), tasks.c.problem.is_(None)),
        "broken_tasks": number(tasks.c.item.is_(None), tasks.c.problem.is_not(None)),
        "annotations": sum(by_state.values()),
        "waiting_annotations": by_state.get("waiting", 0),
        "refused_annotations": by_state.get("refused", 0),
    }


def broken_tasks(connection: Connection, project_id: str, limit: int) -> Sequence[Any]:
    """Tasks that have no items, and why."""
    query = select(tasks.c.task, tasks.c.problem).where(tasks.c.project_id == project_id, tasks.c.item.is_(None))
    return connection.execute(query.where(tasks.c.problem.is_not(None)).order_by(tasks.c.task).limit(limit)).all()


def annotations_with(connection: Connection, project_id: str, ids: Iterable[int]) -> dict[int, Row[Any]]:
    """Annotations that are known, by id."""
    return _found(connection, annotations.c.annotation, project_id, ids)


def put_annotation(connection: Connection, values: dict[str, Any], *, is_known: bool) -> None:
    """What Label Studio says of an annotation now."""
    if is_known:
        own = annotations.c.project_id == values["project_id"], annotations.c.annotation == values["annotation"]
        connection.execute(update(annotations).where(*own).values(**values))
    else:
        connection.execute(insert(annotations).values(**values))


def set_state(connection: Connection, project_id: str, ids: Sequence[int], state: str) -> None:
    """Whether the log of events has them."""
    for first in range(0, len(ids), CHUNK):
        chosen = annotations.c.annotation.in_(ids[first : first + CHUNK])
        connection.execute(
            update(annotations).where(annotations.c.project_id == project_id, chosen).values(state=state)
        )


def retry_refused(connection: Connection, project_id: str) -> None:
    """Classes may have come that were missing."""
    query = update(annotations).where(annotations.c.project_id == project_id, annotations.c.state == "refused")
    connection.execute(query.values(state="waiting"))


def waiting_annotations(connection: Connection, project_id: str, limit: int) -> Sequence[Row[Any]]:
    """Those of tasks with items that the log of events does not have yet, in the order they were changed."""
    on = (tasks.c.project_id == annotations.c.project_id) & (tasks.c.task == annotations.c.task)
    query = select(annotations, tasks.c.item, tasks.c.drawn).join(tasks, on)
    query = query.where(annotations.c.project_id == project_id, annotations.c.state == "waiting")
    query = query.where(tasks.c.item.is_not(None))
    return connection.execute(query.order_by(annotations.c.changed_at, annotations.c.annotation).limit(limit)).all()


def of_person(connection: Connection, project_id: str, item: int, key_id: str) -> Sequence[Row[Any]]:
    """Annotations of an item by one person, the last one first."""
    on = (tasks.c.project_id == annotations.c.project_id) & (tasks.c.task == annotations.c.task)
    query = select(annotations).join(tasks, on).where(tasks.c.project_id == project_id, tasks.c.item == item)
    query = query.where(annotations.c.key_id == key_id)
    return connection.execute(query.order_by(annotations.c.changed_at.desc(), annotations.c.annotation.desc())).all()


def unchanged_since(connection: Connection, project_id: str, of: Sequence[int], time: float) -> Iterator[Row[Any]]:
    """Annotations of these tasks that are not gone, and of which nothing was heard since."""
    query = select(annotations).where(annotations.c.project_id == project_id, annotations.c.heard_at < time)
    query = query.where(annotations.c.kind != "gone")
    for first in range(0, len(of), CHUNK):
        yield from connection.execute(query.where(annotations.c.task.in_(of[first : first + CHUNK])))


def _found(connection: Connection, column: Any, project_id: str, ids: Iterable[int]) -> dict[int, Row[Any]]:
    table, numbers = column.table, list(ids)
    found: dict[int, Row[Any]] = {}
    for first in range(0, len(numbers), CHUNK):
        part = numbers[first : first + CHUNK]
        query = select(table).where(table.c.project_id == project_id, column.in_(part))
        found |= {getattr(row, column.name): row for row in connection.execute(query)}
    return found
