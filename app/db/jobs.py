"""Jobs, and the trainings they made."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from app.db.tables import jobs, trainings

UNFINISHED = ("queued", "running")


def add(connection: Connection, job_id: str, project_id: str, kind: str, now: float) -> None:
    """A job that waits for a thread."""
    connection.execute(insert(jobs).values(id=job_id, project_id=project_id, kind=kind, state="queued", created_at=now))


def change(connection: Connection, job_id: str, **values: Any) -> None:
    """New values of a job."""
    connection.execute(update(jobs).where(jobs.c.id == job_id).values(**values))


def begin(connection: Connection, job_id: str) -> None:
    """A thread works on the job; one that has ended before stays so."""
    query = update(jobs).where(jobs.c.id == job_id, jobs.c.state == "queued")
    connection.execute(query.values(state="running"))


def cancel_queued(connection: Connection, job_id: str, now: float) -> None:
    """End a job that has not begun."""
    query = update(jobs).where(jobs.c.id == job_id, jobs.c.state == "queued")
    connection.execute(query.values(state="cancelled", message="cancelled", finished_at=now))


def get(connection: Connection, project_id: str, job_id: str) -> Row[Any] | None:
    """A job of this project."""
    return connection.execute(select(jobs).where(jobs.c.project_id == project_id, jobs.c.id == job_id)).one_or_none()


def page(connection: Connection, project_id: str, after: str, limit: int) -> Sequence[Row[Any]]:
    """Jobs of a project in the order of their ids."""
    query = select(jobs).where(jobs.c.project_id == project_id, jobs.c.id > after)
    return connection.execute(query.order_by(jobs.c.id).limit(limit)).all()


def fail_unfinished(connection: Connection, message: str, now: float, but: Sequence[str] = ()) -> None:
    """Jobs that a stop of the service cut off, `but` for some that go on."""
    query = update(jobs).where(jobs.c.state.in_(UNFINISHED), jobs.c.id.not_in(but))
    connection.execute(query.values(state="failed", message=message, finished_at=now))


def add_training(connection: Connection, values: dict[str, Any]) -> int:
    """The id of a new training."""
    return int(connection.execute(insert(trainings).values(**values).returning(trainings.c.id)).scalar_one())


def last_training(connection: Connection, project_id: str) -> Row[Any] | None:
    """The newest training of a project."""
    query = select(trainings).where(trainings.c.project_id == project_id).order_by(trainings.c.id.desc()).limit(1)
    return connection.execute(query).one_or_none()


def reports(connection: Connection, project_id: str, most: int) -> Sequence[dict[str, Any]]:
    """What the last trainings told, the newest first."""
    query = select(trainings.c.report).where(trainings.c.project_id == project_id)
    return connection.scalars(query.order_by(trainings.c.id.desc()).limit(most)).all()
