import json

import pytest

from app.services.problems import NotFound
from app.services.project import catalogue
from app.services.reports.export import export
from tests.app.services.projects import answers, open_project, service_in

READERS = 100  # more than there are connections


@pytest.mark.parametrize("history", [False, True])
def test_who_stops_reading_an_export_holds_nothing_up(tmp_path, history):
    with service_in(tmp_path) as service:
        running = open_project(service)
        running.writer.do(answers(running, "A", i0="a", i1="b"))
        stalled = [export(service.database, running.project.id, "jsonl", history=history) for _ in range(READERS)]
        for lines in stalled:
            assert json.loads(next(lines).splitlines()[0])["key"] == "i0"
        running.writer.do(answers(running, "A", i2="c"))
        service.check_database()
        assert sum(page.count(b"\n") for page in stalled[0]) == (1 if history else 0)


def test_numbers_stay_numbers_in_csv_and_formulas_do_not_run(tmp_path):
    with service_in(tmp_path) as service:
        running = open_project(service, ("-1", "+1.5", "=1+1", "-x"))
        running.writer.do(answers(running, "A", i0="-1", i1="+1.5", i2="=1+1", i3="-x"))
        lines = b"".join(export(service.database, running.project.id, "csv", history=False)).decode().splitlines()
        assert [line.split(",")[1] for line in lines[1:]] == ["-1", "+1.5", "'=1+1", "'-x"]


@pytest.mark.parametrize("history", [False, True])
def test_a_project_that_was_deleted_is_exported_whole_or_not_at_all(tmp_path, monkeypatch, history):
    monkeypatch.setattr("app.db.items.CHUNK", 5)
    with service_in(tmp_path) as service:
        running = open_project(service)
        running.writer.do(answers(running, "A", **{f"i{n}": "abc"[n % 3] for n in range(17)}))
        lines = export(service.database, running.project.id, "jsonl", history=history)
        begun = export(service.database, running.project.id, "jsonl", history=history)
        first = next(begun)
        catalogue.delete(service.database, running.project.id)
        service.forget(running.project.id)
        assert b"".join(lines).count(b"\n") == b"".join([first, *begun]).count(b"\n") == 17
        with pytest.raises(NotFound):
            export(service.database, running.project.id, "jsonl", history=history)
