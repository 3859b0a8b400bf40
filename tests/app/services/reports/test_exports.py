import json

import pytest

from app.services.problems import NotFound
from app.services.project import catalogue
from app.services.reports.export import export_history, export_labels, export_predictions
from tests.app.services.projects import answers, open_project, service_in

READERS = 100  # more than there are connections
EXPORTS = {"labels": export_labels, "history": export_history}


@pytest.mark.parametrize("what", EXPORTS)
def test_who_stops_reading_an_export_holds_nothing_up(tmp_path, what):
    with service_in(tmp_path) as service:
        running = open_project(service)
        running.writer.do(answers(running, "A", i0="a", i1="b"))
        stalled = [EXPORTS[what](service.database, running.project.id, "jsonl") for _ in range(READERS)]
        for lines in stalled:
            assert json.loads(next(lines).splitlines()[0])["key"] == "i0"
        running.writer.do(answers(running, "A", i2="c"))
        service.check_database()
        assert sum(page.count(b"\n") for page in stalled[0]) == (1 if what == "history" else 0)


def test_numbers_stay_numbers_in_csv_and_formulas_do_not_run(tmp_path):
    with service_in(tmp_path) as service:
        running = open_project(service, ("-1", "+1.5", "=1+1", "-x"))
        running.writer.do(answers(running, "A", i0="-1", i1="+1.5", i2="=1+1", i3="-x"))
        lines = b"".join(export_labels(service.database, running.project.id, "csv")).decode().splitlines()
        assert lines[0] == "key,label,A,doubt,unsure,answered_at"
        for place in (1, 2):  # the class that was agreed on, and the one that A chose
            assert [line.split(",")[place] for line in lines[1:]] == ["-1", "+1.5", "'=1+1", "'-x"]


@pytest.mark.parametrize("what", EXPORTS)
def test_a_project_that_was_deleted_is_exported_whole_or_not_at_all(tmp_path, monkeypatch, what):
    monkeypatch.setattr("app.db.items.CHUNK", 5)
    with service_in(tmp_path) as service:
        running = open_project(service)
        running.writer.do(answers(running, "A", **{f"i{n}": "abc"[n % 3] for n in range(17)}))
        lines = EXPORTS[what](service.database, running.project.id, "jsonl")
        begun = EXPORTS[what](service.database, running.project.id, "jsonl")
        first = next(begun)
        catalogue.delete(service.database, running.project.id)
        service.forget(running.project.id)
        assert b"".join(lines).count(b"\n") == b"".join([first, *begun]).count(b"\n") == 17
        with pytest.raises(NotFound):
            EXPORTS[what](service.database, running.project.id, "jsonl")


def test_predictions_of_a_project_go_on_after_it_was_deleted(tmp_path, monkeypatch):
    monkeypatch.setattr("app.db.items.CHUNK", 5)
    with service_in(tmp_path) as service:
        running = open_project(service)
        running.writer.do(answers(running, "A", i0="a", i1="b"))
        lines = export_predictions(service.database, running.project.id, running.project.view, "jsonl")
        first = next(lines)
        running.writer.do(answers(running, "A", i2="c"))  # is not in a file that was begun before
        catalogue.delete(service.database, running.project.id)
        rows = [json.loads(line) for line in b"".join([first, *lines]).splitlines()]
        assert [row["key"] for row in rows] == [f"i{i}" for i in range(40)]
        assert [row["by"] for row in rows[:3]] == ["person", "person", "model"]
        with pytest.raises(NotFound):
            export_predictions(service.database, running.project.id, running.project.view, "jsonl")
