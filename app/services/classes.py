"""The classes of a project: added, renamed and merged; numbers stay, names change."""

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection

from app.db import projects
from app.services.problems import Conflict, Invalid, NotFound
from app.services.project import Project
from app.services.turns import Task


@dataclass
class AddClass(Task):
    """A new class, which no item has yet."""

    project: Project
    name: str

    def record(self, connection: Connection) -> None:
        """Write it."""
        check_free(self.project, self.name)
        number = projects.add_class(connection, self.project.id, self.name)
        self.project.classes.add(number, self.name)
        self.project.revision += 1

    def learn(self) -> None:
        """One more function of the model."""
        self.project.with_model(lambda learner: learner.add_classes([self.name]))
        self.answer = self.project.classes.active()


@dataclass
class RenameClass(Task):
    """The same class by another name."""

    project: Project
    old: str
    new: str

    def record(self, connection: Connection) -> None:
        """Write it."""
        number = known(self.project, self.old)
        check_free(self.project, self.new)
        projects.rename_class(connection, self.project.id, number, self.new)
        self.project.classes.add(number, self.new)
        self.project.revision += 1

    def learn(self) -> None:
        """The model knows classes by name."""
        self.project.with_model(lambda learner: learner.rename_class(self.old, self.new))
        self.answer = self.project.classes.active()


@dataclass
class MergeClass(Task):
    """The labels of one class become those of another."""

    project: Project
    name: str
    into: str

    def record(self, connection: Connection) -> None:
        """Write it."""
        number, into = known(self.project, self.name), known(self.project, self.into)
        if number == into:
            raise Invalid("a class cannot be merged into itself")
        projects.merge_class(connection, self.project.id, number, into)
        self.project.classes.merge(number, into)
        self.project.revision += 1

    def learn(self) -> None:
        """All labels at once; where people had differed they may now agree."""
        self.project.with_model(lambda learner: learner.merge_classes(self.name, self.into))
        self.project.all_changed = True
        self.answer = self.project.classes.active()


def known(project: Project, name: str) -> int:
    """The number of a class that is there."""
    number = project.classes.number(name)
    if number is None:
        raise NotFound("there is no class of this name in the project")
    return number


def check_labels(project: Project, names: Iterable[str]) -> None:
    """Raise Invalid unless labels of a file are classes of the project, or may become classes."""
    known = set(project.classes.names.values())
    can_grow = project.settings.open_classes or not known
    for name in names:
        if name in known:
            continue
        if not can_grow:
            raise Invalid("a label in the file is not a class of this project; with open_classes it may be a new one")
        if not name or len(name) > 200 or "\0" in name:
            raise Invalid("labels are texts of 1 to 200 characters without NUL")


def check_free(project: Project, name: str) -> None:
    """Raise Conflict if there is a class of this name."""
    if project.classes.number(name) is not None:
        raise Conflict("there is a class of this name already")
