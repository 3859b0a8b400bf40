"""The list of projects: made, shown, changed, deleted."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from pydantic import ValidationError
from sqlalchemy import Connection

from app.db import encoders, projects
from app.db.database import Database
from app.encoders import check_options
from app.services.problems import Invalid, NotFound, PreconditionFailed
from app.services.project.class_book import ClassBook
from app.services.project.classes import check_likelihood, describe_classes
from app.services.project.search import check_search
from app.services.project.settings import ProjectSettings, learner_settings
from app.services.project.state import Project, StoredEncoder
from app.services.runtime.clock import now
from app.services.runtime.ids import new_id
from app.services.runtime.writer import Task
from core.classes.nodes import Nodes


def create(
    database: Database, name: str, classes: Mapping[str, str | None], settings: ProjectSettings
) -> dict[str, Any]:
    """A new project; of each class what it is a kind of, or None."""
    _check(settings, classes)
    parents = {child: parent for child, parent in classes.items() if parent is not None}
    try:
        nodes = Nodes(tuple(classes), parents)
    except ValueError as error:
        raise Invalid(str(error)) from error
    check_likelihood(settings, nodes)
    project_id = new_id()
    numbers = {one: number for number, one in enumerate(classes)}
    _check_search(settings, ClassBook({number: one for one, number in numbers.items()}))
    with database.write() as connection:
        projects.add(connection, project_id, name, settings.model_dump(), now())
        for one, parent in classes.items():
            projects.add_class(connection, project_id, one, None if parent is None else numbers[parent])
        return describe_project(connection, project_id)


def get(database: Database, project_id: str) -> dict[str, Any]:
    """A project as users see it."""
    with database.read() as connection:
        return describe_project(connection, project_id)


def page(database: Database, after: str, limit: int, only: str | None) -> list[dict[str, Any]]:
    """A page of projects, of all of them or `only` one."""
    with database.read() as connection:
        rows = projects.page(connection, after, limit, only)
        classes = projects.classes_of(connection, [row.id for row in rows])
        fitted = encoders.without_states(connection, [row.id for row in rows])
        return [_describe(row, classes.get(row.id, []), fitted.get(row.id)) for row in rows]


def delete(database: Database, project_id: str) -> None:
    """Mark a project as deleted: nobody sees it any more; its labels stay in the database."""
    with database.write() as connection:
        projects.delete(connection, project_id, now())


class ChangeProject(Task):
    """Another name or other settings, unless somebody else was faster."""

    def __init__(self, project: Project, name: str | None, settings: dict[str, Any], revision: int | None) -> None:
        self._project, self._name, self._settings, self._revision = project, name, settings, revision

    def record(self, connection: Connection) -> None:
        """All or nothing."""
        project = self._project
        if self._revision is not None and self._revision != project.revision:
            raise PreconditionFailed("somebody else has changed the project meanwhile: read it again")
        merged = project.settings.model_dump() | self._settings
        try:
            settings = ProjectSettings.model_validate(merged)
        except ValidationError as error:
            where = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()[:5])
            raise Invalid(f"settings: {where}") from error
        _check(settings, project.classes.active())
        check_likelihood(settings, project.classes.nodes())
        _check_search(settings, project.classes)
        if settings.columns != project.settings.columns and project.keys:
            raise Invalid("columns cannot be changed once there are items: create another project")
        encoder = project.settings.encoder, project.settings.encoder_options
        if (settings.encoder, settings.encoder_options) != encoder and (project.keys or project.encoder is not None):
            raise Invalid("the encoder cannot be changed once there are items: create another project")
        _check_encoder(settings, project.encoder)
        name = self._name or project.name
        projects.change(connection, project.id, name=name, settings=settings.model_dump())
        before = project.model_settings()
        rules = [(one.consensus, one.class_weights, one.goal, one.wanted) for one in (settings, project.settings)]
        self._all_labels = rules[0] != rules[1]
        project.name, project.settings, project.revision = name, settings, project.revision + 1
        self.model_changed = before != project.model_settings()
        project.count_free_items()
        self.answer = describe_project(connection, project.id)

    def learn(self) -> None:
        """Another rule for votes and other weights change labels."""
        self._project.all_changed |= self._all_labels


def describe_project(connection: Connection, project_id: str) -> dict[str, Any]:
    """A project with its classes."""
    row = projects.get(connection, project_id)
    if row is None:
        raise NotFound("there is no such project")
    fitted = encoders.without_states(connection, [project_id]).get(project_id)
    return _describe(row, projects.all_classes(connection, project_id), fitted)


def _describe(row: Any, classes: Sequence[Any], encoder: Any) -> dict[str, Any]:
    return {
        "id": row.id,
        "name": row.name,
        **describe_classes(ClassBook.of(classes)),
        "settings": ProjectSettings.stored(row.settings).model_dump(),
        "encoder": None if encoder is None else asdict(StoredEncoder.of(encoder)),
        "revision": row.revision,
        "created_at": row.created_at,
    }


def _check_search(settings: ProjectSettings, classes: ClassBook) -> None:
    try:
        check_search(settings, classes)
    except ValueError as error:
        raise Invalid(f"settings: {error}") from error


def _check(settings: ProjectSettings, classes: Collection[str]) -> None:
    try:
        settings.check_classes(classes)
        learner_settings(settings.model_parts())
        if settings.encoder_options:
            check_options(settings.encoder, settings.encoder_options)
            _check_options(settings)
    except ValueError as error:
        raise Invalid(f"settings: {error}") from error


def _check_options(settings: ProjectSettings) -> None:
    """Raise a ValueError for options that make what the kernel cannot read."""
    options = settings.encoder_options
    has_negatives = options.get("model") not in (None, "auto") or options.get("standardised") is True
    if has_negatives and settings.has_intersection_alone:
        raise ValueError(
            "encoder_options: embeddings and standardised columns have negative numbers, which kernel hik alone cannot "
            "read: leave model, normalise and transform as they are by default, or choose kernel rbf or linear"
        )


def _check_encoder(settings: ProjectSettings, encoder: StoredEncoder | None) -> None:
    """Of negative numbers histogram intersection alone makes nothing."""
    if encoder is not None and encoder.has_negatives and settings.has_intersection_alone:
        raise Invalid(
            "the items of this project have embeddings or standardised columns, which kernel hik cannot read: leave "
            "model, normalise and transform as they are by default, or choose kernel rbf or linear"
        )
