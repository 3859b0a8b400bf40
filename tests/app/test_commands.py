import json
import os
import re
import socket
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

from app.cli import app
from app.client import AskNextError, Client
from app.services import access
from tests.app.live import ADMIN, in_thread
from tests.app.raw.files import texts

SETTINGS = {"kernel": "hik", "retrain": "off", "explore": 0.0}
TABLE = "key,label,x,y,text\na,left,1,2,=1+1\nb,right,2,1,two\nc,,2,2,three\n"


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    """Nothing from outside."""
    for name in list(os.environ):
        if name.startswith("ASKNEXT_"):
            monkeypatch.delenv(name)


@pytest.fixture
def address(site):
    return str(site.http.base_url)


@pytest.fixture
def client(address):
    with Client(address, ADMIN) as one:
        yield one


@pytest.fixture
def project(client):
    return client.create_project("commands", ["left", "right"], SETTINGS).id


@pytest.fixture
def beside(site):
    """Options for commands on the database of a running service."""
    settings = site.service.settings
    return ["--data-dir", settings.data_dir] + (["--database", settings.database] if settings.database else [])


@pytest.fixture
def nobody():
    """An address where nothing listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


def run(*arguments, **environment):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env=environment)


def done(*arguments, **environment):
    """What a command that must succeed prints."""
    result = run(*arguments, **environment)
    assert result.exit_code == 0, result.output
    return result.stdout


def failed(*arguments, **environment):
    """What a command that must fail says."""
    result = run(*arguments, **environment)
    assert result.exit_code == 1, result.output
    assert result.stdout == ""
    assert isinstance(result.exception, SystemExit)
    return result.stderr


def words(text):
    """Without frames, colours and line breaks."""
    return " ".join(re.sub(r"\x1b\[[0-9;]*m|[│╭╮╰╯─]", " ", text).split())


def test_import_and_export(address, client, project, tmp_path):
    (tmp_path / "table.csv").write_text(TABLE)
    there = ["--project", project, "--url", address]
    assert done("import", tmp_path / "table.csv", *there, "--key", ADMIN) == "3 added, 0 unchanged, 0 labelled\n"
    (tmp_path / "table.odd").write_text(TABLE)
    again = done("import", tmp_path / "table.odd", *there, "--format", "csv", "--labels", ASKNEXT_KEY=ADMIN)
    assert again == "0 added, 3 unchanged, 2 labelled\n"
    client.label(project, "a", "right")

    lines = [json.loads(line) for line in done("export", *there, "--key", ADMIN).splitlines()]
    assert [(line["key"], line["label"]) for line in lines] == [("a", "right"), ("b", "right")]
    history = done("export", *there, "--history", "--format", "csv", ASKNEXT_KEY=f"{ADMIN}\n").splitlines()
    assert history[0].startswith("key,sequence,kind")
    assert [line.split(",")[2] for line in history[1:]] == ["label", "label", "relabel"]
    with_data = [json.loads(line) for line in done("export", *there, "--data", "--key", ADMIN).splitlines()]
    assert [line["data"]["text"] for line in with_data] == ["=1+1", "two"]
    assert "history and data cannot be combined" in failed("export", *there, "--data", "--history", "--key", ADMIN)
    guesses = done("export", *there, "--predictions", "--format", "csv", "--excel", "--key", ADMIN).splitlines()
    assert guesses[0].startswith("\ufeffkey,")
    assert [line.split(",")[0] for line in guesses[1:]] == ["a", "b", "c"]
    assert "goes with --format jsonl or csv" in failed("export", *there, "--predictions", "--data", "--key", ADMIN)
    output = tmp_path / "labels.jsonl"
    assert done("export", *there, "--key", ADMIN, "--output", output) == ""
    assert [json.loads(line) for line in output.read_text().splitlines()] == lines
    assert sorted(path.name for path in tmp_path.iterdir()) == ["labels.jsonl", "table.csv", "table.odd"]


def test_indices_of_svmlight_files(address, project, tmp_path):
    (tmp_path / "rows.svm").write_text("1 0:1 1:2\n2 1:1\n")
    command = ["import", tmp_path / "rows.svm", "--project", project, "--url", address, "--key", ADMIN]
    assert "set index_base=0" in failed(*command)
    assert done(*command, "--index-base", 0) == "2 added, 0 unchanged, 0 labelled\n"
    assert run(*command, "--index-base", 2).exit_code == 2


def test_a_folder_of_texts(address, client, tmp_path):
    for i, (label, text) in enumerate(texts(10)):
        (tmp_path / label).mkdir(exist_ok=True)
        (tmp_path / label / f"{i}.txt").write_text(text)
    (tmp_path / "odd.txt").write_bytes(b"\xff")
    project = client.create_project("p", settings={"encoder": "auto"}).id
    there = ["--project", project, "--url", address, "--key", ADMIN]
    told = run("import", tmp_path, *there)
    assert told.exit_code == 0, told.output
    assert "10 added, 0 unchanged, 0 labelled\ntext: the archive holds 11 texts" in told.stdout
    assert "odd.txt: not UTF-8 text\n1 left out" in told.stderr
    assert client.project(project).encoder["kind"] == "text"
    assert client.add_items(project, ["new"], ["team ball"]).added == 1
    client.add_class(project, "sport")
    assert client.predict(project, texts=["team ball"])[0].label == "sport"


def test_files_that_cannot_be_imported(address, project, tmp_path):
    there = ["--project", project, "--url", address, "--key", ADMIN]
    assert "No such file" in failed("import", tmp_path / "missing.csv", *there)
    assert "is a directory" in failed("import", tmp_path, *there, "--format", "csv")
    (tmp_path / "table.txt").write_text(TABLE)
    assert "expected a name that ends in .npz" in failed("import", tmp_path / "table.txt", *there)
    (tmp_path / "table.npz").write_text(TABLE)
    assert "not an npz file of plain arrays" in failed("import", tmp_path / "table.npz", *there)
    (tmp_path / "table.csv").write_text("a,b\nx,y\n")
    assert "no column of numbers" in failed("import", tmp_path / "table.csv", *there)


@pytest.mark.parametrize("command", ["import", "export"])
def test_a_service_that_cannot_be_used(address, nobody, project, tmp_path, command):
    (tmp_path / "table.csv").write_text(TABLE)
    command = [command, *([tmp_path / "table.csv"] if command == "import" else [])]
    assert f"{nobody} does not answer" in failed(*command, "--project", project, "--url", nobody, "--key", ADMIN)
    there = ["--url", address]
    assert "set ASKNEXT_KEY" in failed(*command, *there, "--project", project)
    assert "this key is unknown" in failed(*command, *there, "--project", project, "--key", "wrong")
    assert "no such project" in failed(*command, *there, "--project", "none", "--key", ADMIN)
    assert "protocol" in failed(*command, "--url", "localhost", "--project", project, "--key", ADMIN)


def test_an_export_that_fails_leaves_what_was_there(address, tmp_path):
    output = tmp_path / "labels.jsonl"
    output.write_text("from yesterday")
    failed("export", "--project", "none", "--url", address, "--key", ADMIN, "--output", output)
    assert output.read_text() == "from yesterday"
    assert len(list(tmp_path.iterdir())) == 1
    missing = tmp_path / "no" / "labels.jsonl"
    assert "No such file" in failed("export", "--project", "x", "--url", address, "--key", ADMIN, "--output", missing)


def test_keys_beside_a_running_service(address, client, project, beside, monkeypatch):
    monkeypatch.setattr(access, "REMEMBERED", 0.1)
    secret = done("keys", "create", "nora", *beside).strip()
    limited = done("keys", "create", "bob", "--role", "admin", "--project", project, *beside).strip()
    done("keys", "create", "somebody whose name takes the room of others " * 3, *beside)
    with Client(address, secret) as ann, Client(address, limited) as bob:
        assert ann.me() == {"name": "nora", "role": "annotator", "project": None}
        assert bob.me() == {"name": "bob", "role": "admin", "project": project}
        listed = done("keys", "list", *beside)
        assert secret not in listed
        (row,) = [line for line in listed.splitlines() if "nora" in re.split(r"[│\s]+", line)]
        assert done("keys", "revoke", row.replace("│", " ").split()[0], *beside) == "revoked\n"
        time.sleep(0.15)  # it was remembered for so long
        with pytest.raises(AskNextError) as error:
            ann.me()
        assert error.value.status == 401
        assert bob.me()["name"] == "bob"
    assert "no such key" in failed("keys", "revoke", "none", *beside)
    assert "no such project" in failed("keys", "create", "eve", "--project", "none", *beside)
    assert run("keys", "create", "eve", "--role", "queen", *beside).exit_code == 2


def test_migrate(database_url, tmp_path):
    beside = ["--database", database_url, "--data-dir", tmp_path]
    assert "run asknext migrate" in failed("keys", "list", *beside)
    assert re.fullmatch(r"from nothing to (\w+)\n", done("migrate", *beside))
    assert re.fullmatch(r"from (\w+) to \1\n", done("migrate", *beside))
    assert done("keys", "create", "ann", "--role", "reader", *beside).startswith("ask_")
    assert "reader" in done("keys", "list", *beside)


def test_databases_that_cannot_be_used(tmp_path):
    assert "there is no database in" in failed("keys", "list", "--data-dir", tmp_path)
    nobody = f"postgresql:///x?host={tmp_path}"
    for url in ("mysql://localhost/x", "nonsense", f"sqlite:///{tmp_path}", nobody):
        assert "the database cannot be used" in failed("migrate", "--database", url, "--data-dir", tmp_path)
    assert "the database does not answer" in failed("keys", "list", "--database", nobody, "--data-dir", tmp_path)


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (["--help"], ["serve", "migrate", "keys", "import", "export", "simulate", "evaluate"]),
        (["import", "--help"], ["--project", "--url", "--key", "ASKNEXT_KEY", "--format", "--labels", "--index-base"]),
        (["export", "--help"], ["--project", "--format", "jsonl", "csv", "--history", "--data", "--output"]),
        (["keys", "--help"], ["create", "list", "revoke"]),
        (["migrate", "--help"], ["--database", "--data-dir"]),
    ],
)
def test_help_tells_the_options(command, told):
    text = words(done(*command, COLUMNS="200"))
    assert [word for word in told if word not in text] == []


def test_the_command_itself(sqlite_url, tmp_path):
    """In a process of its own: bytes on standard output, words on standard error."""
    (tmp_path / "table.csv").write_text(TABLE)
    with in_thread(sqlite_url, tmp_path) as (address, _), Client(address, ADMIN) as client:
        project = client.create_project("process", ["left", "right"], SETTINGS).id
        command = [sys.executable, "-m", "app", "import", str(tmp_path / "table.csv"), "--labels"]
        command += ["--project", project, "--url", address]
        environment = os.environ | {"ASKNEXT_KEY": ADMIN}
        result = subprocess.run(command, capture_output=True, env=environment, check=False)
        assert (result.returncode, result.stdout) == (0, b"3 added, 0 unchanged, 2 labelled\n")
        assert b"uploading" in result.stderr
        assert len(list(client.labels(project))) == 2
