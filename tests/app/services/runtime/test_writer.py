import shutil
import threading
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from app.services.items.add import AddItems, NewItem, dense_row
from app.services.labelling.answers import RetractTask, UndoTask
from app.services.labelling.questions import Ask, AskTask
from app.services.problems import Invalid, NotFound, Unavailable
from app.services.project import catalogue
from app.services.project.classes import AddClass, ChangeClass, MergeClass
from app.services.runtime.writer import LATER, Task
from tests.app.live import eventually
from tests.app.services.projects import (
    answers,
    assert_as_rebuilt,
    commit_fails,
    in_one_turn,
    open_project,
    rows,
    service_in,
)


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with service_in(tmp_path_factory.mktemp("turns")) as service:
        yield service


def undo(running, who):
    return UndoTask(project=running.project, annotator=who)


def consensus(running, rule):
    return catalogue.ChangeProject(running.project, None, {"consensus": rule}, None)


MEETINGS = {
    "three on one item": lambda r: [answers(r, who, i0=label) for who, label in zip("ABC", "aab", strict=True)],
    "label and retract": lambda r: [answers(r, "A", i0="b"), RetractTask(r.project, "A", "i0", everybody=False)],
    "retract and label": lambda r: [RetractTask(r.project, "A", "i1", everybody=False), answers(r, "A", i1="c")],
    "item and its label": lambda r: [AddItems(r.project, rows(40, 45), 4), answers(r, "A", i42="a")],
    "two uploads": lambda r: [AddItems(r.project, rows(40, 45), 4), AddItems(r.project, rows(45, 50), 4)],
    "class, label, other name": lambda r: [
        AddClass(r.project, "d"),
        answers(r, "A", i5="d"),
        ChangeClass(r.project, "d", "e"),
    ],
    "merge and rename": lambda r: [MergeClass(r.project, "a", "b"), ChangeClass(r.project, "c", "z")],
    "merge and a new class": lambda r: [MergeClass(r.project, "a", "b"), answers(r, "A", i5="new", i6="newer")],
    "rule and rename": lambda r: [consensus(r, "latest"), ChangeClass(r.project, "c", "z")],
    "label and merge": lambda r: [answers(r, "B", i1="a"), MergeClass(r.project, "a", "b")],
    "undo and label": lambda r: [undo(r, "A"), answers(r, "A", i9="c")],
}


@pytest.mark.parametrize("meeting", MEETINGS)
def test_tasks_that_meet_in_one_turn(service, meeting):
    running = open_project(service, overlap=3, open_classes=True)
    in_one_turn(running, answers(running, "A", i1="a", i2="b", i3="c"))
    for answer in in_one_turn(running, *MEETINGS[meeting](running)):
        assert not isinstance(answer, Exception), answer
    assert_as_rebuilt(running)


TREE = {"bird": None, "robin": "bird", "tit": "bird", "bat": None}
TREE_MEETINGS = {
    "labels at nodes": lambda r: [answers(r, "A", i4="bird", i5="robin"), answers(r, "B", i4="bird")],
    "kinds of a labelled class": lambda r: [
        AddClass(r.project, "myotis", "bat"),
        answers(r, "A", i5="myotis", i6="bat"),
    ],
    "move and rename": lambda r: [
        ChangeClass(r.project, "bat", "myotis", "bird", move=True),
        answers(r, "A", i5="myotis"),
        ChangeClass(r.project, "robin", None, None, move=True),
    ],
    "merge a node": lambda r: [AddClass(r.project, "fowl"), MergeClass(r.project, "bird", "fowl")],
    "merge into a node": lambda r: [MergeClass(r.project, "bat", "bird"), answers(r, "A", i5="bird")],
}


@pytest.mark.parametrize("meeting", TREE_MEETINGS)
def test_tasks_that_meet_in_a_tree(service, meeting):
    running = open_project(service, TREE, overlap=3, likelihood="softmax")
    in_one_turn(running, answers(running, "A", i1="robin", i2="tit", i3="bat", i7="bird"))
    for answer in in_one_turn(running, *TREE_MEETINGS[meeting](running)):
        assert not isinstance(answer, Exception), answer
    assert_as_rebuilt(running, atol=1e-4)


@pytest.mark.parametrize(
    ("task", "message"),
    [
        (lambda r: AddClass(r.project, "owl", "mammal"), "no class with this name"),
        (lambda r: ChangeClass(r.project, "bird", None, "robin", move=True), "cannot be a kind of itself"),
        (lambda r: ChangeClass(r.project, "bird", None, "bird", move=True), "cannot be a kind of itself"),
        (lambda r: ChangeClass(r.project, "bird", None, "mammal", move=True), "there is no class 'mammal'"),
        (lambda r: MergeClass(r.project, "bird", "robin"), "which is a kind of it"),
        (lambda r: catalogue.ChangeProject(r.project, None, {"likelihood": "gaussian"}, None), "needs softmax"),
    ],
)
def test_what_is_no_tree_is_refused(service, task, message):
    running = open_project(service, TREE, n=4, likelihood="softmax")
    before = running.project.classes.nodes()
    (refused,) = in_one_turn(running, task(running))
    assert isinstance(refused, Invalid | NotFound)
    assert message in str(refused)
    assert running.project.classes.nodes() == running.project.learner.nodes == before


def test_a_label_that_was_not_written_is_not_learnt(service, monkeypatch):
    running = open_project(service, ("a", "b"), open_classes=True)
    in_one_turn(running, answers(running, "A", i0="a", i1="b"))
    with commit_fails(service.database, monkeypatch):
        lost = answers(running, "A", i5="new", i6="a")
        assert isinstance(in_one_turn(running, lost)[0], Unavailable)
    in_one_turn(running, answers(running, "A", i7="a"))
    assert running.project.learner.classes == ["a", "b"]
    assert_as_rebuilt(running)
    in_one_turn(running, answers(running, "A", i5="new"))
    assert_as_rebuilt(running)


def test_what_was_learnt_ahead_of_a_commit_that_failed_is_taken_back(service, monkeypatch):
    running = open_project(service, ("a", "b"))
    in_one_turn(running, answers(running, "A", i0="a", i1="b"))
    shown, mean = running.project.view.model, running.project.learner.mean.copy()
    with commit_fails(service.database, monkeypatch):
        lost = in_one_turn(running, answers(running, "A", i5="b"), AskTask(running.project, "B", Ask()))
    assert [type(answer) for answer in lost] == [Unavailable, Unavailable]
    assert running.project.view.model is shown
    assert np.array_equal(running.project.learner.mean, mean)
    (asked,) = in_one_turn(running, AskTask(running.project, "B", Ask()))
    assert running.project.leases.holders(5) <= {"B"}
    assert list(running.project.leases.items()) == [running.project.item_numbers[asked["items"][0]["key"]]]
    in_one_turn(running, answers(running, "A", i5="a"))
    assert_as_rebuilt(running)


def test_nobody_sees_an_answer_before_it_is_on_the_disk(service, monkeypatch):
    """The model learns it in the meantime."""
    running = open_project(service, ("a", "b"))
    in_one_turn(running, answers(running, "A", i0="a", i1="b"))
    view, real, go_on = running.project.view, service.database.write, threading.Event()

    @contextmanager
    def slow():
        with real() as connection:
            yield connection
            assert go_on.wait(30)

    monkeypatch.setattr(service.database, "write", slow)
    try:
        answered = running.writer.submit(answers(running, "A", i5="b"))
        eventually(lambda: running.project.learner.labels[5] == 1)
        assert not answered.done()
        assert running.project.view is view
    finally:
        go_on.set()
    assert answered.result(30)["accepted"] == 1
    assert running.project.view.model.labels[5] == 1
    assert_as_rebuilt(running)


class Surprise(Task):
    """Does a part of its work, then fails as nobody foresaw."""

    def __init__(self, running, step):
        self.running, self.step = running, step

    def record(self, connection):
        if self.step == "record":
            added = AddItems(self.running.project, rows(60, 65), 4)
            added.prepare()
            added.record(connection)
            answers(self.running, "Z", i8="new").record(connection)
            raise ZeroDivisionError(self.step)

    def learn(self):
        if self.step == "learn":
            raise ZeroDivisionError(self.step)

    def respond(self):
        if self.step == "respond":
            raise ZeroDivisionError(self.step)

    def save_answer(self, connection):
        if self.step == "save_answer":
            answers(self.running, "Z", i8="a").record(connection)
            raise ZeroDivisionError(self.step)


@pytest.mark.parametrize("step", ["record", "learn", "respond", "save_answer"])
def test_a_task_that_fails_unexpectedly_fails_alone(service, step):
    running = open_project(service, open_classes=True)
    before, surprise, after, added, asked = in_one_turn(
        running,
        answers(running, "A", i0="a", i1="b"),
        Surprise(running, step),
        answers(running, "B", i2="c", i3="a"),
        AddItems(running.project, rows(40, 45), 4),
        AskTask(running.project, "C", Ask()),
    )
    assert isinstance(surprise, ZeroDivisionError)
    assert (before["accepted"], after["accepted"], added["added"], len(asked["items"])) == (2, 2, 5, 1)
    again = running.writer.do(answers(running, "A", i44="b"))
    assert again["accepted"] == 1
    project = running.project
    assert (project.keys[40:], project.item_numbers["i44"]) == ([f"i{i}" for i in range(40, 45)], 44)
    assert project.ledger.votes(8) == {}
    assert project.leases.holders(project.item_numbers[asked["items"][0]["key"]]) == {"C"}
    assert_as_rebuilt(running)


def test_undo_takes_back_only_what_one_did_oneself(service):
    running = open_project(service)
    for task in (answers(running, "A", i0="a"), answers(running, "A", i1="b")):
        running.writer.do(task)
    running.writer.do(RetractTask(running.project, "ADMIN", "i0", everybody=True))
    assert [item["key"] for item in running.writer.do(undo(running, "A"))["items"]] == ["i1"]
    assert running.project.agreed_label(0) is None
    assert running.project.agreed_label(1) is None
    assert_as_rebuilt(running)


def test_undo_restores_the_place_among_the_votes(service):
    running = open_project(service, overlap=3, consensus="latest")
    for who, label in (("A", "a"), ("B", "b"), ("A", "c")):
        running.writer.do(answers(running, who, i0=label))
    running.writer.do(undo(running, "A"))
    assert running.project.agreed_label(0)[0] == "b"
    assert_as_rebuilt(running)


def test_undo_does_not_give_an_item_that_somebody_else_has(service):
    running = open_project(service, n=2)
    running.writer.do(answers(running, "A", i0="skip"))
    given = [running.writer.do(AskTask(running.project, "B", Ask()))["items"] for _ in range(2)]
    assert {item["key"] for items in given for item in items} == {"i0", "i1"}
    assert running.writer.do(undo(running, "A"))["items"] == []
    assert running.project.leases.holders(0) == {"B"}


@pytest.mark.parametrize("value", [-1.0, 1e308])
def test_what_the_model_cannot_read_is_refused_while_it_lags(service, value):
    running = open_project(service)
    strange = NewItem("strange", dense_row([value] * 4))
    added, refused = in_one_turn(
        running, AddItems(running.project, rows(40, 45), 4), AddItems(running.project, [strange], 4)
    )
    assert added["added"] == 5
    assert isinstance(refused, Invalid)
    with pytest.raises(Invalid, match="cannot be used"):
        running.writer.do(AddItems(running.project, [strange], 4, teach=False), LATER)


def test_what_can_wait_gets_on_while_people_are_busy(service):
    running = open_project(service)
    order = []

    class Note(Task):
        def __init__(self, what):
            self.what = what

        def respond(self):
            order.append(self.what)
            if self.what == "person" and order.count("person") < 5:  # somebody who always wants more
                running.writer.submit(Note("person"))

    futures = in_one_turn_with_later(running, Note("person"), [Note("later") for _ in range(3)])
    for future in futures:
        future.result(30)
    assert order[:6] == ["person", "later"] * 3


def in_one_turn_with_later(running, person, later):
    waiting = []

    class Begin(Task):
        def respond(self):
            waiting.extend(running.writer.submit(task, LATER) for task in later)
            waiting.append(running.writer.submit(person))

    running.writer.do(Begin(), LATER)
    return waiting


def test_a_writer_that_stops_answers_everybody(service):
    running = open_project(service)
    futures = [running.writer.submit(Task()) for _ in range(50)]
    running.writer.stop()
    assert [future.result(1) for future in futures] == [None] * 50
    with pytest.raises(Unavailable, match="stopping"):
        running.writer.submit(Task())


@pytest.mark.parametrize("change", [{"noise": 5.0}, {"kernel": "rbf"}, {"bias": 0.0}, {"model": "forest"}])
def test_a_snapshot_is_not_taken_for_one_of_other_settings(tmp_path, change):
    with service_in(tmp_path) as service:
        running = open_project(service)
        running.writer.do(answers(running, "A", **{f"i{i}": "abc"[i % 3] for i in range(20)}))
        running.writer.do(catalogue.ChangeProject(running.project, None, change, None))
        assert running.project.is_outdated
    with service_in(tmp_path) as service:
        assert_as_rebuilt(service.open(running.project.id))


def test_a_snapshot_is_not_taken_for_one_of_another_project(tmp_path, caplog):
    """Two projects that have as many items, labels and classes, and the same settings."""
    with service_in(tmp_path) as service:
        ids = [open_project(service, n=1).project.id for _ in range(2)]
        for project_id, new in zip(ids, (rows(1, 40), rows(41, 80)), strict=True):
            running = service.open(project_id)
            running.writer.do(
                AddItems(running.project, [replace(item, key=f"i{i}") for i, item in enumerate(new, 1)], 4)
            )
            running.writer.do(answers(running, "A", **{f"i{i}": "abc"[i % 3] for i in range(20)}))
    one, two = (tmp_path / "snapshots" / f"{project_id}.npz" for project_id in ids)
    kept = one.rename(tmp_path / "kept")
    two.rename(one)
    kept.rename(two)
    with service_in(tmp_path) as service:
        for project_id in ids:
            assert_as_rebuilt(service.open(project_id))
    assert [record.getMessage() for record in caplog.records if "another project" in record.getMessage()] != []


def test_a_snapshot_is_not_taken_for_one_of_other_items(tmp_path, caplog):
    """A database that was restored from a copy, and got others instead of the items that came after the copy."""
    with service_in(tmp_path) as service:
        running = open_project(service, n=30)
    database = tmp_path / "asknext.db"
    copy = tmp_path / "copy"
    shutil.copy(database, copy)
    with service_in(tmp_path) as service:
        running = service.open(running.project.id)
        running.writer.do(AddItems(running.project, rows(30, 40), 4))
        running.writer.do(answers(running, "A", i0="a", i1="b"))
    shutil.copy(copy, database)
    with service_in(tmp_path) as service:
        project_id = running.project.id
        snapshot = (tmp_path / "snapshots" / f"{project_id}.npz").read_bytes()
        running = service.open(project_id)
        others = [replace(item, key=f"i{i}") for i, item in enumerate(rows(0, 10), 30)]
        running.writer.do(AddItems(running.project, others, 4))
        running.writer.do(answers(running, "A", i0="a", i1="b"))
    (tmp_path / "snapshots" / f"{project_id}.npz").write_bytes(snapshot)
    with service_in(tmp_path) as service:
        assert_as_rebuilt(service.open(project_id))
    assert [record.getMessage() for record in caplog.records if "another list of items" in record.getMessage()] != []
