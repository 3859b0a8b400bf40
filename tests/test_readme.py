"""What the pages show works when it is pasted: README, and those of the rooms."""

import json
import os
import re
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import typer
from PIL import Image

from app.cli import app
from app.encoders import ENCODERS
from app.services.project.settings import ProjectSettings
from app.settings import ServiceSettings
from core import GPHIKClassifier, GPHIKForestClassifier
from tests.app.live import ADMIN, Process, in_thread

ROOT = Path(__file__).parent.parent
FOUND = [*ROOT.glob("*.md"), *(page for room in ("app", "core", "tests") for page in (ROOT / room).rglob("*.md"))]
PAGES = {str(page.relative_to(ROOT)): page.read_text() for page in sorted(FOUND) if "vendor" not in page.parts}
README, SERVICE, LIBRARY = PAGES["README.md"], PAGES["app/README.md"], PAGES["core/README.md"]
LABEL_STUDIO = "app/label_studio/README.md"  # has tests of its own, in tests/app/label_studio


def blocks(language, *pages):
    texts = [text for name, text in PAGES.items() if name in pages or not pages]
    return [block for text in texts for block in re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)]


PYTHON = [code for code in blocks("python") if "app.client" not in code]
CLIENT = [code for code in blocks("python", "app/README.md") if "app.client" in code]
WALKS = {page: [block for block in blocks("sh", page) if "curl" in block] for page in ("README.md", "app/README.md")}
IMPORTS = blocks("sh", "app/encoders/README.md")
MAKE = [block for block in blocks("sh") if block.startswith("make ")]
PYTEST = [block for block in blocks("sh") if block.startswith(".venv/bin/pytest ")]
LABELLED_FILES = [block for block in blocks("sh") if "FILE.npz" in block]
KEYS = [block for block in blocks("sh") if "asknext keys" in block]
CONNECT = [block for block in blocks("sh", "README.md") if "label-studio connect" in block]  # run where its own page is


def run(script, tmp_path, environment):
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script.replace("curl -s", "curl -sS --fail-with-body")],
        cwd=tmp_path,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def server(tmp_path):
    server = Process(None, tmp_path / "data").start()
    yield server
    server.stop()


def test_every_example_is_run():
    known = [*PYTHON, *CLIENT, *IMPORTS, *MAKE, *PYTEST, *LABELLED_FILES, *KEYS, *CONNECT]
    known += [block for walk in WALKS.values() for block in walk]
    known += blocks("python", LABEL_STUDIO) + blocks("sh", LABEL_STUDIO)
    assert set(blocks("python") + blocks("sh")) == set(known)


@pytest.mark.jit
@pytest.mark.parametrize("code", PYTHON)
def test_python_examples(code, capsys):
    exec(compile(code, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "True" in printed
    assert float(re.findall(r"^(\d\.\d+)$", printed, re.MULTILINE)[0]) > 0.9


@pytest.mark.jit
@pytest.mark.parametrize(("command", "told"), [("simulate", "unc"), ("evaluate", "softmax")])
def test_commands_on_labelled_files(tmp_path, command, told):
    line = next(line for line in "\n".join(LABELLED_FILES).splitlines() if f"asknext {command}" in line)
    x = np.random.default_rng(0).random((60, 3))
    np.savez(tmp_path / "FILE.npz", X=x, y=x[:, 0] > x[:, 1])
    asknext, *arguments = line.replace("--budget 100", "--budget 12").split()
    done = subprocess.run([ROOT / asknext, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert told in done.stdout
    assert (tmp_path / arguments[-1]).exists()


COMMANDS = re.findall(r"(?:^|`)(make [a-z-]+)", "\n".join(PAGES.values()), re.MULTILINE)


@pytest.mark.parametrize("command", sorted(set(COMMANDS)))
def test_commands_are_known_to_make(command):
    """`make test` runs this very test, so commands are only asked for, not run."""
    done = subprocess.run([*command.split(), "--dry-run"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", [line.strip() for block in PYTEST for line in block.splitlines()])
def test_tests_that_are_named_exist(command):
    _, *files = command.split()
    assert all((ROOT / file).exists() for file in files)


def test_commands_of_asknext_exist():
    named = set(re.findall(r"(?:^|`|bin/)asknext ([a-z-]+)", "\n".join(PAGES.values()), re.MULTILINE))
    assert {"serve", "import", "worker"} <= named <= set(typer.main.get_command(app).commands)


def test_every_argument_is_documented():
    rows = [line.split("|")[1] for line in LIBRARY.splitlines() if line.startswith("| `")]
    documented = set(re.findall(r"`(\w+)`", "".join(rows)))
    assert set(GPHIKClassifier().get_params()) | set(GPHIKForestClassifier().get_params()) <= documented


@pytest.mark.jit
def test_the_walk_with_the_client(tmp_path, capsys):
    (code,) = CLIENT
    with in_thread(None, tmp_path) as (address, _):
        exec(compile(code.replace("http://127.0.0.1:8000", address), "README.md", "exec"), {"key": ADMIN})
    assert "'cat': " in capsys.readouterr().out


@pytest.mark.jit
@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("README.md", ['"added":3', '"accepted":2']),
        (
            "app/README.md",
            ['"added":4', '"accepted":2', "a.jpg,cat", '"decision":"robin"', '"nodes":{"bird":0.', '"coal tit":"tit"'],
        ),
    ],
)
def test_the_walk_with_curl(tmp_path, server, page, expected):
    script = "".join(WALKS[page]).replace("http://127.0.0.1:8000", server.address)
    told = run(script, tmp_path, {"KEY": ADMIN})
    for one in ['"label":"dog"', *expected]:
        assert one in told


@pytest.mark.jit
def test_raw_items(tmp_path, server):
    (script,) = IMPORTS
    rng = np.random.default_rng(0)
    (tmp_path / "photos").mkdir()
    for number in range(6):
        picture = rng.integers(0, 255, (48, 48, 3), dtype=np.uint8)
        Image.fromarray(picture).save(tmp_path / "photos" / f"{number}.png")
    rows = ["see you at lunch today,ham", "you have won a big prize,spam"] * 5
    (tmp_path / "messages.csv").write_text("\n".join(["text,label", *(f"{n} {row}" for n, row in enumerate(rows)), ""]))
    script = script.replace("http://127.0.0.1:8000", server.address)
    script = script.replace(".venv/bin/asknext import", f"{ROOT}/.venv/bin/asknext import --url {server.address}")
    told = run(script, tmp_path, {"KEY": ADMIN})
    assert "6 added" in told
    assert "10 added" in told
    assert "10 labelled" in told
    assert '"label":"spam"' in told


def test_keys(tmp_path, server):
    (script,) = KEYS
    script = script.replace(".venv/bin", f"{ROOT}/.venv/bin")
    told = run(script, tmp_path, {"ASKNEXT_DATA_DIR": str(tmp_path / "data")})
    assert told.startswith("ask_")
    assert "Ada" in told


@pytest.mark.jit
def test_a_backup_while_it_runs_is_a_service_again(tmp_path, server):
    run("".join(WALKS["README.md"]).replace("http://127.0.0.1:8000", server.address), tmp_path, {"KEY": ADMIN})
    (tmp_path / "again").mkdir()
    with (
        closing(sqlite3.connect(tmp_path / "data" / "asknext.db")) as live,
        closing(sqlite3.connect(tmp_path / "again" / "asknext.db")) as copy,
    ):
        live.backup(copy)  # what .backup does
    restored = Process(None, tmp_path / "again").start()
    try:
        ask = f'curl -s {restored.address}/v1/projects -H "Authorization: Bearer $KEY"'
        (project,) = json.loads(run(ask, tmp_path, {"KEY": ADMIN}))["projects"]
        labels = run(ask.replace("projects", f"projects/{project['id']}/labels?format=csv"), tmp_path, {"KEY": ADMIN})
    finally:
        restored.stop()
    assert "a.jpg,cat" in labels
    assert "b.jpg,dog" in labels


@pytest.mark.parametrize(
    ("model", "form"),
    [(ServiceSettings, lambda name: f"ASKNEXT_{name.upper()}"), (ProjectSettings, str)],
    ids=["service", "project"],
)
def test_every_setting_is_documented(model, form):
    for name, field in model.model_fields.items():
        default = "" if field.default is None else f"`{field.default}`"
        assert f"| `{form(name)}` | {default} | {field.description} |" in SERVICE


@pytest.mark.parametrize("kind", ENCODERS)
def test_options_of_encoders(kind):
    for name, field in ENCODERS[kind].options_type.model_fields.items():
        default = "" if field.default is None else f"`{field.default}`"
        assert f"| {kind} | `{name}` | {default} | {field.description} |" in PAGES["app/encoders/README.md"]


def test_the_first_page_is_short_and_begins_with_the_two_commands():
    assert README.index("make serve") < README.index("make test") < 1000
    assert len(README.splitlines()) <= 150


def anchors(text):
    """Of the headings of a page, as they are made by whoever shows it."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES)
def test_links_and_pictures_lead_somewhere(page):
    shown = re.sub(r"<!--.*?-->", "", PAGES[page], flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", shown):
        if target.startswith("https://"):
            continue
        path, _, anchor = target.partition("#")
        place = (ROOT / page).parent / path if path else ROOT / page
        assert place.exists(), target
        if anchor:
            assert anchor in anchors(place.read_text()), target


def test_every_page_of_a_room_is_found_from_the_first():
    linked = set(re.findall(r"\]\(([^)#\s]+\.md)", README))
    assert {page for page in PAGES if page != "README.md"} <= linked
