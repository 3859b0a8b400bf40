import pytest

from app.db import events
from app.db.database import DatabaseUnavailable
from app.services.labelling.answers import UndoTask
from app.services.labelling.idempotency import Idempotency, Once
from app.services.labelling.questions import Ask
from app.services.problems import Invalid, NotFound
from tests.app.services.projects import answers, in_one_turn, open_project, service_in


@pytest.fixture
def running(tmp_path):
    with service_in(tmp_path) as service:
        yield open_project(service)


def once(running, key="k", body=b"1", **labels):
    task = answers(running, "A", **labels)
    task.ask = Ask()
    return Once(task, Idempotency(key, body))


def n_events(running):
    with running.project.database.read() as connection:
        return len(events.page(connection, running.project.id, 0, 100))


def test_twins_of_one_turn_get_one_answer(running):
    first, second, other = in_one_turn(
        running, once(running, i0="a"), once(running, i0="a"), once(running, "another", i1="b")
    )
    assert first == second == running.writer.do(once(running, i0="a"))
    assert first["items"] != other["items"]
    assert n_events(running) == 2


def test_a_key_stands_for_one_body(running):
    running.writer.do(once(running, i0="a"))
    with pytest.raises(Invalid, match="another body"):
        running.writer.do(once(running, body=b"2", i0="b"))
    assert n_events(running) == 1


def test_a_request_that_was_refused_leaves_no_key(running):
    with pytest.raises(NotFound):
        running.writer.do(once(running, missing="a"))
    assert running.writer.do(once(running, body=b"2", i0="a"))["accepted"] == 1


def test_a_repeat_whose_first_answer_was_lost_gets_a_new_one(running, monkeypatch):
    def fail(*_):
        raise DatabaseUnavailable("gone")

    with monkeypatch.context() as patch:
        patch.setattr(events, "set_answer", fail)
        assert running.writer.do(once(running, i0="a"))["items"] == []
    again = running.writer.do(once(running, i0="a"))
    assert (again["accepted"], len(again["items"])) == (1, 1)
    assert n_events(running) == 1


def test_an_answer_is_undone_once(running):
    running.writer.do(answers(running, "A", i0="a", i1="b"))
    for _ in range(2):
        undo = UndoTask(project=running.project, annotator="A")
        answer = running.writer.do(Once(undo, Idempotency("undo", b"")))
        assert [item["key"] for item in answer["items"]] == ["i1"]
    assert running.project.ledger.votes(0) == {"A": 0}
