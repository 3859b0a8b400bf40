"""Projects and their classes."""

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from sqlalchemy import Connection, Row, func, insert, select, update

from app.db.tables import classes, projects


def add(connection: Connection, project_id: str, name: str, settings: dict[str, Any], now: float) -> None:
    """A project without classes and items."""
    connection.execute(insert(projects).values(id=project_id, name=name, settings=settings, created_at=now))


def get(connection: Connection, project_id: str) -> Row[Any] | None:
    """The project, unless it was deleted."""
    query = select(projects).where(projects.c.id == project_id, projects.c.deleted_at.is_(None))
    return connection.execute(query).one_or_none()


def get_even_deleted(connection: Connection, project_id: str) -> Row[Any] | None:
    """The project, deleted or not."""
    return connection.execute(select(projects).where(projects.c.id == project_id)).one_or_none()


def page(connection: Connection, after: str, limit: int, only: str | None) -> Sequence[Row[Any]]:
    """Projects in the order of their ids, from behind `after` on; all of them, or `only` one."""
    query = select(projects).where(projects.c.deleted_at.is_(None), projects.c.id > after)
    if only is not None:
        query = query.where(projects.c.id == only)
    return connection.execute(query.order_by(projects.c.id).limit(limit)).all()


def every_id(connection: Connection) -> list[str]:
    """The ids of all projects that are not deleted."""
    return list(connection.scalars(select(projects.c.id).where(projects.c.deleted_at.is_(None))))


def change(connection: Connection, project_id: str, **values: Any) -> None:
    """New values, and a new revision."""
    query = update(projects).where(projects.c.id == project_id)
    connection.execute(query.values(revision=projects.c.revision + 1, **values))


def set_settings(connection: Connection, project_id: str, settings: dict[str, Any]) -> None:
    """Settings that follow from another change, which has made a new revision."""
    connection.execute(update(projects).where(projects.c.id == project_id).values(settings=settings))


def set_width(connection: Connection, project_id: str, width: int) -> None:
    """The number of feature columns, known with the first items."""
    connection.execute(update(projects).where(projects.c.id == project_id).values(width=width))


def delete(connection: Connection, project_id: str, now: float) -> None:
    """Mark it as deleted; its rows stay."""
    connection.execute(update(projects).where(projects.c.id == project_id).values(deleted_at=now))


def all_classes(connection: Connection, project_id: str) -> Sequence[Row[Any]]:
    """Every class there ever was, by number; merged ones name what they were merged into."""
    query = select(classes).where(classes.c.project_id == project_id)
    return connection.execute(query.order_by(classes.c.number)).all()


def classes_of(connection: Connection, project_ids: list[str]) -> dict[str, list[Any]]:
    """The classes of several projects, by project."""
    found: dict[str, list[Any]] = {}
    query = select(classes).where(classes.c.project_id.in_(project_ids)).order_by(classes.c.number)
    for row in connection.execute(query):
        found.setdefault(row.project_id, []).append(row)
    return found


def add_class(connection: Connection, project_id: str, name: str, parent: int | None = None) -> int:
    """The number of a new class."""
    taken = select(func.coalesce(func.max(classes.c.number), -1)).where(classes.c.project_id == project_id)
    number = int(connection.execute(taken).scalar_one()) + 1
    change(connection, project_id)
    connection.execute(insert(classes).values(project_id=project_id, number=number, name=name, parent=parent))
    return number


def change_class(connection: Connection, project_id: str, number: int, name: str, parent: int | None) -> None:
    """Call it by another name, or make it a kind of another one."""
    query = update(classes).where(classes.c.project_id == project_id, classes.c.number == number)
    connection.execute(query.values(name=name, parent=parent))
    change(connection, project_id)


def merge_class(connection: Connection, project_id: str, number: int, into: int) -> None:
    """Its labels and kinds count as those of another class from now on; its name is free again."""
    query = update(classes).where(classes.c.project_id == project_id, classes.c.number == number)
    connection.execute(query.values(merged_into=into, parent=None, name=f"merged/{number}/{uuid4().hex}"))
    kinds = update(classes).where(classes.c.project_id == project_id, classes.c.parent == number)
    connection.execute(kinds.values(parent=into))
    change(connection, project_id)
