"""Several tasks in one turn of a project's writer, and the model that the log alone would give."""

import threading
from contextlib import contextmanager

import numpy as np

from app.db.database import DatabaseUnavailable
from app.services.items.add import AddItems, NewItem, dense_row
from app.services.items.stored import item_table
from app.services.labelling.answers import Answer, AnswerTask
from app.services.model.restoring import batches, build, last_training
from app.services.project import catalogue
from app.services.project.learner_labels import apply_changes, label_changes
from app.services.project.settings import ProjectSettings
from app.services.project.state import Project
from app.services.registry.service import Service
from app.services.runtime.writer import Task
from app.settings import ServiceSettings
from core import compile_all


@contextmanager
def service_in(folder, **settings):
    """A service without HTTP."""
    compile_all()
    service = Service(ServiceSettings(data_dir=folder, **settings))
    try:
        yield service
    finally:
        service.start()
        service.stop()


def rows(first, end):
    features = np.random.default_rng(0).random((end, 4))
    return [NewItem(f"i{i}", dense_row(features[i].tolist())) for i in range(first, end)]


def open_project(service, classes=("a", "b", "c"), n=40, **settings):
    classes = classes if isinstance(classes, dict) else dict.fromkeys(classes)
    made = catalogue.create(service.database, "p", classes, ProjectSettings(kernel="hik", **settings))
    running = service.open(made["id"])
    running.writer.do(AddItems(running.project, rows(0, n), 4))
    return running


def answers(running, who, **labels):
    """Of items by key; a class, or skip."""
    entries = [Answer(key, None, "skip") if label == "skip" else Answer(key, label) for key, label in labels.items()]
    return AnswerTask(project=running.project, annotator=who, answers=entries)


class Hold(Task):
    """Keeps the writer until others are queued."""

    def __init__(self):
        self.begun, self.go = threading.Event(), threading.Event()

    def respond(self):
        self.begun.set()
        assert self.go.wait(30)


def in_one_turn(running, *tasks):
    """The answers, or what was raised."""
    hold = Hold()
    futures = [running.writer.submit(hold)]
    assert hold.begun.wait(30)
    futures += [running.writer.submit(task) for task in tasks]
    hold.go.set()
    return [future.exception(30) or future.result() for future in futures[1:]]


@contextmanager
def commit_fails(database, monkeypatch):
    """The next transaction is taken back at its end."""
    real = database.write

    @contextmanager
    def fail():
        with real() as connection:
            yield connection
            monkeypatch.setattr(database, "write", real)
            raise DatabaseUnavailable("no room")

    monkeypatch.setattr(database, "write", fail)
    yield
    monkeypatch.setattr(database, "write", real)


def assert_as_rebuilt(running, atol=1e-9):
    """The model is the one that the database alone would give."""
    project = Project(running.project.database, running.project.id, running.project.arrays)
    project.reload()
    fresh, live = build(project, last_training(project)), running.project.learner
    for first, end in batches(project, len(fresh)):
        fresh.add_items(item_table(project, first, end))
    apply_changes(fresh, label_changes(fresh, project.agreed_labels()))
    assert running.project.degraded is None
    assert live.nodes == fresh.nodes
    assert live.labels.tolist() == fresh.labels.tolist()
    assert np.allclose(live.mean, fresh.mean, atol=atol)
    assert np.allclose(live.variance, fresh.variance, atol=1e-9)
