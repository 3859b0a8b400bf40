"""What the README shows works when it is pasted."""

import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from app.encoders import ENCODERS
from app.services.project_settings import ProjectSettings
from app.settings import ServiceSettings
from core import GPHIKClassifier, GPHIKForestClassifier
from tests.app.live import ADMIN, Process, in_thread

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


@pytest.mark.jit
@pytest.mark.parametrize("code", [code for code in blocks("python") if "app.client" not in code])
def test_python_examples(code, capsys):
    exec(compile(code, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "True" in printed
    assert float(re.findall(r"^(\d\.\d+)$", printed, re.MULTILINE)[0]) > 0.9


@pytest.mark.jit
@pytest.mark.parametrize(("command", "told"), [("simulate", "unc"), ("evaluate", "softmax")])
def test_commands_on_labelled_files(tmp_path, command, told):
    line = next(line for line in "\n".join(blocks("sh")).splitlines() if f"asknext {command}" in line)
    x = np.random.default_rng(0).random((60, 3))
    np.savez(tmp_path / "FILE.npz", X=x, y=x[:, 0] > x[:, 1])
    asknext, *arguments = line.replace("--budget 100", "--budget 12").split()
    done = subprocess.run([ROOT / asknext, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert told in done.stdout
    assert (tmp_path / arguments[-1]).exists()


@pytest.mark.parametrize("command", re.findall(r"^(make \w+)", "\n".join(blocks("sh")), re.MULTILINE))
def test_commands_are_known_to_make(command):
    """`make test` runs this very test, so commands are only asked for, not run."""
    done = subprocess.run([*command.split(), "--dry-run"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_argument_is_documented():
    rows = [line.split("|")[1] for line in README.splitlines() if line.startswith("| `")]
    documented = set(re.findall(r"`(\w+)`", "".join(rows)))
    assert set(GPHIKClassifier().get_params()) | set(GPHIKForestClassifier().get_params()) <= documented


@pytest.mark.jit
def test_the_walk_with_the_client(tmp_path, capsys):
    code = next(code for code in blocks("python") if "app.client" in code)
    with in_thread(None, tmp_path) as (address, _):
        exec(compile(code.replace("http://127.0.0.1:8000", address), "README.md", "exec"), {"key": ADMIN})
    assert "'cat': " in capsys.readouterr().out


@pytest.mark.jit
def test_the_walk_with_curl(tmp_path):
    script = "".join(block for block in blocks("sh") if "curl" in block and "asknext" not in block)
    server = Process(None, tmp_path).start()
    try:
        script = script.replace("http://127.0.0.1:8000", server.address).replace("curl -s", "curl -sS --fail-with-body")
        environment = os.environ | {"KEY": ADMIN}
        done = subprocess.run(["bash", "-euc", script], env=environment, capture_output=True, text=True, check=False)
    finally:
        server.stop()
    assert done.returncode == 0, done.stdout + done.stderr
    assert '"added":4' in done.stdout
    assert '"accepted":2' in done.stdout
    assert '"label":"dog"' in done.stdout
    assert "a.jpg,cat" in done.stdout
    assert '"decision":"robin"' in done.stdout
    assert '"nodes":{"bird":0.' in done.stdout
    assert '"coal tit":"tit"' in done.stdout


@pytest.mark.parametrize(
    ("model", "form"),
    [(ServiceSettings, lambda name: f"ASKNEXT_{name.upper()}"), (ProjectSettings, str)],
    ids=["service", "project"],
)
def test_every_setting_is_documented(model, form):
    for name, field in model.model_fields.items():
        default = "" if field.default is None else f"`{field.default}`"
        assert f"| `{form(name)}` | {default} | {field.description} |" in README


@pytest.mark.parametrize("kind", ENCODERS)
def test_options_of_encoders(kind):
    for name, field in ENCODERS[kind].options_type.model_fields.items():
        default = "" if field.default is None else f"`{field.default}`"
        assert f"| {kind} | `{name}` | {default} | {field.description} |" in README


def test_the_two_commands_come_first():
    assert README.index("make serve") < README.index("make test") < 1000
