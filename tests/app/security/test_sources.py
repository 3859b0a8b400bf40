"""S5 and S3 in the sources: nothing that runs what it reads, nothing that fetches, plain arrays only."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SOURCES = sorted(path for folder in ("app", "core", "migrations") for path in (ROOT / folder).rglob("*.py"))
RUNNING = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "joblib", "shelve", "marshal", "dbm", "yaml", "imp"}
CALLS = {"eval", "exec", "compile", "__import__", "read_pickle", "to_pickle"}
FETCHING = {"httpx", "requests", "aiohttp", "urllib", "urllib3", "http", "ftplib", "smtplib", "telnetlib", "socket"}
# What the service and its own workers tell each other, as Dask does: nothing that a user sends or a file holds.
TELLING_WORKERS = {ROOT / "app/cluster/cluster.py": {"cloudpickle"}, ROOT / "app/cluster/work.py": {"pickle"}}
OPENING = {"read", "write", "part", "connect", "begin"}
THE_ONE_THAT_FETCHES = "app/label_studio/remote.py"  # from the address of a link, and from nowhere else
SERVING = ("app/api", "app/label_studio", "app/services", "app/db", "core")  # the command line may talk to a server


def tree(path):
    return ast.parse(path.read_text(), str(path))


def imported(path):
    """Top-level names of all modules that a file imports."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield (node.module or "").partition(".")[0]


def calls(path):
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Call):
            yield node


def name_of(call):
    return getattr(call.func, "attr", None) or getattr(call.func, "id", "")


def test_there_are_sources():
    assert len(SOURCES) > 50
    assert {path.relative_to(ROOT).parts[0] for path in SOURCES} == {"app", "core", "migrations"}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_runs_what_it_reads(path):
    assert RUNNING & set(imported(path)) == TELLING_WORKERS.get(path, set())
    for call in calls(path):
        plain = not isinstance(call.func, ast.Attribute) or call.func.attr not in ("compile",)  # re.compile is fine
        assert not (name_of(call) in CALLS and plain), f"{path}:{call.lineno}"
        keywords = {keyword.arg: keyword.value for keyword in call.keywords}
        if name_of(call) in ("load", "loadz") and getattr(getattr(call.func, "value", None), "id", "") in (
            "np",
            "numpy",
        ):
            assert getattr(keywords.get("allow_pickle"), "value", None) is False, f"{path}:{call.lineno}"
        assert getattr(keywords.get("allow_pickle"), "value", False) is False
        assert getattr(keywords.get("shell"), "value", False) is False


def test_arrays_are_read_somewhere():
    """Else the rule about np.load would prove nothing."""
    assert sum("np.load(" in path.read_text() for path in SOURCES) >= 2


def test_what_serves_cannot_fetch():
    for path in SOURCES:
        name = str(path.relative_to(ROOT))
        if name.startswith(SERVING) and name != THE_ONE_THAT_FETCHES:
            assert not FETCHING & set(imported(path)), path


def test_routes_open_no_connections():
    for path in (ROOT / "app/api").rglob("*.py"):
        opened = {ast.unparse(call.func) for call in calls(path) if name_of(call) in OPENING}
        assert not any("database" in name or "connection" in name for name in opened), path


def test_the_rules_find_what_they_look_for(tmp_path):
    bad = tmp_path / "bad.py"
    for line in ("import pickle", "from yaml import load", "eval('1')", "np.load(f)", "np.load(f, allow_pickle=True)"):
        bad.write_text(line)
        with pytest.raises(AssertionError):
            test_nothing_runs_what_it_reads(bad)
    bad.write_text("import re\nre.compile('a')\nnp.load(f, allow_pickle=False)")
    test_nothing_runs_what_it_reads(bad)
