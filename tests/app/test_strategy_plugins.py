"""Query strategies of other packages, in a service, on its page, in a simulation and for the estimators."""

import os
import re
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import httpx
import numpy as np
import pytest

from core import GPHIKForestClassifier, OnlineLearner, Settings
from core.queries import pick, plugins
from core.queries.plugins import checked_scores, loaded
from tests.app.live import Process
from tests.app.site import Site

LIBRARY = (Path(__file__).parents[2] / "core/README.md").read_text()
SECTION = LIBRARY[LIBRARY.index("### A strategy of your own") :]
EXAMPLE = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)[0]
ENTRY = re.findall(r"^([a-z-]+) = \"mine:strategy\"", SECTION, re.MULTILINE)[0]
OTHERS = """
def raises(state, seed):
    raise RuntimeError("no")

def nonsense(state, seed):
    return state.mean

def changes(state, seed):
    state.mean[:] = 0.0
    return state.margin

not_callable = 3
"""
NAMES = {ENTRY: "mine:strategy", "unc": "mine:raises", "gone": "mine:gone", "three": "mine:not_callable"}
NAMES |= {name: f"mine:{name}" for name in ("raises", "nonsense", "changes")}


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """The folder of the package that core/README.md describes, with some that do not work, as pip would install it."""
    folder = tmp_path_factory.mktemp("packages")
    (folder / "mine.py").write_text(EXAMPLE + OTHERS)
    info = folder / "mine-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    entries = "\n".join(f"{name} = {place}" for name, place in NAMES.items())
    (info / "entry_points.txt").write_text(f"[asknext.strategies]\n{entries}\n")
    return folder


@pytest.fixture
def here(package, monkeypatch):
    monkeypatch.syspath_prepend(package)
    plugins.every_strategy.cache_clear()
    yield
    plugins.every_strategy.cache_clear()


X = np.random.default_rng(0).random((60, 3))
Y = (X[:, 0] > 0.5).astype(int)


def learner():
    made = OnlineLearner(Settings(complement=True), ["no", "yes"])
    made.add_items(X)
    made.label_many({item: ["no", "yes"][Y[item]] for item in range(12)})
    return made


@pytest.mark.usefixtures("here")
def test_it_chooses_for_a_learner_and_an_estimator():
    made, rows = learner(), np.arange(12, 60)
    state = made._model.state(rows, np.arange(60))
    best = rows[(state.margin / state.likeness.mean(axis=1)).argmin()]
    (found,) = made.query(1, ENTRY)
    assert (found.row, found.strategy) == (best, ENTRY)
    forest = GPHIKForestClassifier().fit(X[:12], Y[:12])
    assert len({one.row for one in pick(forest.pool_state(X, labelled=range(12)), ENTRY, 3)}) == 3


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("raises", "no"),
        ("nonsense", r"must give \d+ scores, one for each item"),
        ("changes", "read-only"),
        ("gone", "could not be loaded: AttributeError"),
        ("three", "could not be loaded: it is 3"),
    ],
)
def test_what_does_not_work_is_an_error_and_changes_nothing(name, message):
    made = learner()
    before = made.mean.copy()
    with pytest.raises((ValueError, RuntimeError), match=message):
        made.query(1, name)
    assert np.array_equal(made.mean, before)


@pytest.mark.usefixtures("here")
def test_names_of_this_package_are_taken():
    assert learner().query(1, "unc")


@pytest.mark.parametrize(
    ("scores", "message"), [("abc", "array of numbers"), ([1.0], "must give 2 scores"), ([1.0, np.nan], "1 are not")]
)
def test_scores_are_finite_numbers_one_for_each_item(scores, message):
    with pytest.raises(ValueError, match=message):
        checked_scores("mine", scores, 2)


def test_a_module_that_is_not_there():
    strategy = loaded(EntryPoint("far", "no_such_module:strategy", plugins.GROUP))
    with pytest.raises(ValueError, match="'far' could not be loaded: ModuleNotFoundError"):
        strategy.score(None, 0)


@pytest.mark.alone
def test_it_is_a_strategy_of_the_service(package, tmp_path):
    server = Process(None, tmp_path / "data", {"PYTHONPATH": str(package)}).start()
    with httpx.Client(base_url=server.address, timeout=60.0) as http:
        project = Site(http, None).project(["no", "yes"], strategy=ENTRY)
        project.add(X)
        project.label({f"k{i}": ["no", "yes"][Y[i]] for i in range(12)})
        assert ask(project) == (ENTRY, False)
        for name in ("raises", "nonsense", "changes", "gone"):
            assert ask(project, strategy=name) == ("random", True)
            assert name in project.get("/model")["degraded"]
            assert ask(project, strategy="unc") == ("unc", False)
        project.post("/query", {"strategy": "far"}, 422)
        schema = http.get("/openapi.json").json()["components"]["schemas"]["ProjectSettings"]["properties"]["strategy"]
        assert schema["x-names"][ENTRY] == "Near and typical"
        assert ENTRY in schema["enum"]
    server.stop()
    without = Process(None, tmp_path / "data").start()
    with httpx.Client(base_url=without.address, timeout=60.0) as http:
        again = Site(http, None, path=project.path)
        assert ask(again) == ("random", True)
        again.patch("", {"settings": {"strategy": "unc"}})
        assert ask(again) == ("unc", False)
    without.stop()


def ask(project, **body):
    answer = project.post("/query", body)
    (item,) = answer["items"]
    return item["strategy"], answer["degraded"]


@pytest.mark.jit
def test_it_is_simulated(package, tmp_path):
    np.savez(tmp_path / "some.npz", X=X, y=Y)
    command = [sys.executable, "-m", "app", "simulate", "some.npz", "--strategies", f"{ENTRY},unc", "--budget", "12"]
    paths = os.pathsep.join([str(package), str(Path(__file__).parents[2])])
    done = subprocess.run(
        [*command, "--repeats", "1"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert ENTRY in done.stdout
