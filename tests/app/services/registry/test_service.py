import threading
import time

import pytest

from app.services.imports.run import Import, run_import
from app.services.model import training
from app.services.problems import NotFound
from app.services.project import catalogue
from app.services.project.state import Project
from tests.app.live import eventually, has_ended
from tests.app.services.projects import answers, open_project, service_in


@pytest.fixture
def service(tmp_path):
    with service_in(tmp_path) as service:
        service.start()
        eventually(lambda: service.is_ready)
        service.start = lambda: None  # once is enough
        yield service


@pytest.mark.parametrize("moment", ["before it is read", "after it was read"])
def test_a_project_that_is_deleted_while_it_is_opened(service, monkeypatch, moment):
    project_id = open_project(service, n=4).project.id
    service.drop(project_id).writer.stop()
    reading, deleted, real = threading.Event(), threading.Event(), Project.reload

    def reload(project):
        if moment == "after it was read":
            real(project)
        reading.set()
        assert deleted.wait(30)
        if moment == "before it is read":
            real(project)

    monkeypatch.setattr(Project, "reload", reload)
    outcome = []

    def open_it():
        try:
            outcome.append(service.running(project_id))
        except NotFound as problem:
            outcome.append(problem)

    opening = threading.Thread(target=open_it)
    opening.start()
    assert reading.wait(30)
    catalogue.delete(service.database, project_id)
    forgetting = threading.Thread(target=service.forget, args=(project_id,))
    forgetting.start()
    time.sleep(0.1)
    deleted.set()
    for thread in (opening, forgetting):
        thread.join()
    assert len(outcome) == 1
    assert isinstance(outcome[0], NotFound) == (moment == "before it is read")
    assert service.in_memory(project_id) is None
    with pytest.raises(NotFound):
        service.running(project_id)


def test_who_comes_to_a_project_just_after_its_deletion(service):
    running = open_project(service, n=4)
    catalogue.delete(service.database, running.project.id)
    service.forget(running.project.id)
    with pytest.raises(NotFound):
        running.writer.do(answers(running, "A", i0="a"))


def test_trainings_take_turns_with_imports(service, tmp_path, monkeypatch):
    running = open_project(service)
    going_on, most, guard, real = 0, 0, threading.Lock(), training.train

    def train(*args, **options):
        nonlocal going_on, most
        with guard:
            going_on += 1
            most = max(most, going_on)
        try:
            time.sleep(0.2)
            return real(*args, **options)
        finally:
            with guard:
                going_on -= 1

    monkeypatch.setattr(training, "train", train)
    monkeypatch.setattr("app.services.imports.run.train", train, raising=False)
    jobs = [service.start_training(running, tune=False)]
    for n in range(3):
        file = tmp_path / f"{n}.csv"
        file.write_text("key,a,b,c,d\n" + "\n".join(f"new-{n}-{i},0.1,0.2,0.3,0.{i}" for i in range(1, 6)))
        wanted = Import(file, "csv", service.media)
        work = lambda progress, wanted=wanted: run_import(running, wanted, progress)  # noqa: E731
        jobs.append(service.jobs.start(running.project.id, "import", work))
    ended = [eventually(lambda job=job: service.jobs.get(running.project.id, job), has_ended) for job in jobs]
    assert [job["state"] for job in ended] == ["done"] * 4, ended
    assert most == 1
    assert running.imports == 0
