"""What happens while the database is kept from all others: rows are written, and nothing is computed."""

import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pytest

from app.services.imports.run import Import, run_import
from app.services.items.add import AddItems
from app.services.model import training
from app.services.runtime.jobs import Progress
from tests.app.services.projects import answers, in_one_turn, open_project, rows, service_in

BOOKKEEPING = {"core.classes.nodes", "core.settings"}  # names of classes and of settings


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with service_in(tmp_path_factory.mktemp("transactions")) as service:
        yield service


@contextmanager
def watched(database, monkeypatch):
    """The functions of the core that are called in transactions, until these are committed, if need be by others."""
    called, real, submit = set(), database.write, ThreadPoolExecutor.submit

    def hand_over(*given, **options):
        sys.setprofile(None)
        return submit(*given, **options)

    def note(frame, event, _):
        module = frame.f_globals.get("__name__", "")
        if event == "call" and module.split(".")[0] == "core" and module not in BOOKKEEPING:
            called.add(f"{module}.{frame.f_code.co_qualname}")

    @contextmanager
    def write():
        with real() as connection:
            sys.setprofile(note)
            try:
                yield connection
            finally:
                sys.setprofile(None)

    with monkeypatch.context() as patch:
        patch.setattr(database, "write", write)
        patch.setattr(ThreadPoolExecutor, "submit", hand_over)
        yield called


def test_nothing_is_computed_in_a_transaction(service, monkeypatch, tmp_path):
    with watched(service.database, monkeypatch) as called:
        running = open_project(service)
        in_one_turn(running, answers(running, "A", i0="a", i1="b", i2="c"))
        in_one_turn(running, answers(running, "A", i3="b"), AddItems(running.project, rows(40, 60), 4))
        training.train(running.project, running.writer, Progress(service.database, "none"), tune=False)
        running.writer.do(AddItems(running.project, rows(60, 70), 4, teach=False))
        file = tmp_path / "items.csv"
        file.write_text("key,a,b,c,d\n" + "".join(f"c{i},{i},1,2,3\n" for i in range(600)))
        run_import(running, Import(file, "csv", service.media), Progress(service.database, "none"))
    assert called == set()
    assert running.project.degraded is None
    assert len(running.project.learner) == 670


def test_what_the_model_thought_is_kept_with_the_answers(service):
    """It is looked up before the transaction, for all answers at once; items of the same turn were not known."""
    running = open_project(service)
    in_one_turn(running, answers(running, "A", i0="a", i1="b", i2="c"))
    model = running.project.view.model
    thought = [model.classes[k] for k in model.predicted_of(np.array([3, 4]))]
    in_one_turn(
        running,
        AddItems(running.project, rows(40, 45), 4),
        answers(running, "A", i3="a", i4="b", i42="c"),
        answers(running, "B", i3="a"),
    )
    with service.database.read() as connection:
        found = connection.exec_driver_sql(
            "SELECT item, predicted FROM events WHERE item IN (3, 4, 42) AND project_id = ? ORDER BY sequence",
            (running.project.id,),
        ).all()
    names = [(item, None if k is None else running.project.classes.name(k)) for item, k in found]
    assert names == [(3, thought[0]), (4, thought[1]), (42, None), (3, thought[0])]


def test_two_first_uploads_in_one_turn(service):
    """Both begin a model before either is stored."""
    running = open_project(service, n=0)
    one, other = AddItems(running.project, rows(0, 5), 4), AddItems(running.project, rows(3, 9), 4)
    assert [answer["added"] for answer in in_one_turn(running, one, other)] == [5, 4]
    assert running.project.degraded is None
    assert len(running.project.learner) == 9
