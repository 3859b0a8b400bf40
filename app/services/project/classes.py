"""The classes of a project: added, renamed, moved and merged; numbers stay, names change."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from app.db import projects
from app.services.problems import Conflict, Invalid, NotFound
from app.services.project.class_book import ClassBook
from app.services.project.settings import ProjectSettings
from app.services.project.state import Project
from app.services.runtime.writer import Task
from core.classes.nodes import Nodes

MOST = 10_000
MAX_CLASSES_BY_LABELS = 1000  # more are no slip of a column or a key: an administrator adds them by name


@dataclass
class AddClass(Task):
    """A new class, which no item has yet; perhaps a kind of another."""

    project: Project
    name: str
    parent: str | None = None

    def record(self, connection: Connection) -> None:
        """Write the class, if its name is free and the classes stay a tree."""
        check_free(self.project, self.name)
        if len(self.project.classes.names) >= MOST:
            raise Invalid(f"a project may have at most {MOST} classes")
        parent = None if self.parent is None else known(self.project, self.parent)
        parents = {} if self.parent is None else {self.name: self.parent}
        check_tree(self.project, lambda nodes: nodes.with_more([self.name], parents))
        number = projects.add_class(connection, self.project.id, self.name, parent)
        self.project.classes = self.project.classes.with_class(number, self.name, parent)
        self.project.revision += 1
        self._parents = parents

    def learn(self) -> None:
        """One more function of the model."""
        self.project.with_model(lambda learner: learner.add_classes([self.name], self._parents))
        self.answer = describe_classes(self.project.classes)


@dataclass
class ChangeClass(Task):
    """Another name or parent for a class; None leaves the name, `move` says whether the parent changes."""

    project: Project
    old: str
    new: str | None
    parent: str | None = None
    move: bool = False

    def record(self, connection: Connection) -> None:
        """Write the new name and parent, if the classes stay a tree."""
        classes = self.project.classes
        number = known(self.project, self.old)
        name, parent = self.old, classes.parents.get(number)
        if self.new is not None:
            check_free(self.project, self.new)
            name = self.new
        if self.move:
            check_tree(self.project, lambda nodes: nodes.moved(self.old, self.parent))
            parent = None if self.parent is None else known(self.project, self.parent)
        projects.change_class(connection, self.project.id, number, name, parent)
        self.project.classes = classes.with_class(number, name, parent)
        rename_in_settings(connection, self.project, self.old, name)
        self.project.revision += 1

    def learn(self) -> None:
        """The model knows classes by name."""
        if self.move:
            self.project.with_model(lambda learner: learner.move_class(self.old, self.parent))
        new = self.new
        if new is not None:
            self.project.with_model(lambda learner: learner.rename_class(self.old, new))
        self.answer = describe_classes(self.project.classes)


@dataclass
class MergeClass(Task):
    """The labels of one class become those of another."""

    project: Project
    name: str
    into: str

    def record(self, connection: Connection) -> None:
        """Write what the class was merged into."""
        number, into = known(self.project, self.name), known(self.project, self.into)
        if number == into:
            raise Invalid("a class cannot be merged into itself")
        if self.project.wanted == self.name:
            raise Conflict("this is the class that is to be found: choose another one in the settings first")
        check_tree(self.project, lambda nodes: nodes.merged(self.name, self.into))
        projects.merge_class(connection, self.project.id, number, into)
        self.project.classes = self.project.classes.with_merged(number, into)
        rename_in_settings(connection, self.project, self.name, None)
        self.project.revision += 1

    def learn(self) -> None:
        """All labels at once; where people had differed they may now agree."""
        self.project.with_model(lambda learner: learner.merge_classes(self.name, self.into))
        self.project.all_changed = True
        self.answer = describe_classes(self.project.classes)


def rename_in_settings(connection: Connection, project: Project, old: str, new: str | None) -> None:
    """Let settings call a class by its new name, or forget it."""
    settings = project.settings.with_class(old, new)
    if settings != project.settings:
        projects.set_settings(connection, project.id, settings.model_dump())
        project.settings = settings


def describe_classes(classes: ClassBook) -> dict[str, Any]:
    """Classes as users see them: names in their order, and what some are a kind of."""
    nodes = classes.nodes()
    return {"classes": list(nodes.given), "parents": dict(nodes.parents)}


def check_tree(project: Project, change: Callable[[Nodes], Nodes]) -> None:
    """Raise Invalid unless the classes are a tree afterwards, and one that the model can have."""
    try:
        nodes = change(project.classes.nodes())
    except ValueError as error:
        raise Invalid(str(error)) from error
    check_likelihood(project.settings, nodes)


def check_likelihood(settings: ProjectSettings, nodes: Nodes) -> None:
    """Raise Invalid for a tree of classes where the model learns them side by side."""
    if nodes.parents and settings.likelihood != "softmax":
        raise Invalid("a tree of classes needs softmax: set likelihood to softmax first")


def known(project: Project, name: str) -> int:
    """The number of a class that is there."""
    number = project.classes.number(name)
    if number is None:
        raise NotFound("the project has no class with this name")
    return number


def check_labels(project: Project, names: Iterable[str]) -> None:
    """Raise Invalid unless labels of a file are classes of the project, or may become classes."""
    known = set(project.classes.names.values())
    can_grow = project.settings.open_classes or not known
    new = set()
    for name in names:
        if name in known:
            continue
        if not can_grow:
            raise Invalid(
                "a label in the file is not a class of this project: add the class first, or set open_classes"
            )
        if not name or len(name) > 200 or "\0" in name:
            raise Invalid("labels must have 1 to 200 characters, without NUL characters")
        new.add(name)
    check_room(project, len(new))


def check_room(project: Project, n_new: int) -> None:
    """Raise Invalid if labels would make too many new classes."""
    if n_new and len(project.classes.names) + n_new > MAX_CLASSES_BY_LABELS:
        raise Invalid(
            f"labels may bring a project to {MAX_CLASSES_BY_LABELS} classes, of which it has "
            f"{len(project.classes.names)}: is this the right column? An administrator can add more by name"
        )


def check_free(project: Project, name: str) -> None:
    """Raise Conflict if there is a class of this name."""
    if project.classes.number(name) is not None:
        raise Conflict("there is already a class with this name")
