"""What the README shows works when it is pasted."""

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from core import GPHIKClassifier

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


@pytest.mark.jit
@pytest.mark.parametrize("code", blocks("python"))
def test_python_examples(code, capsys):
    exec(compile(code, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "True" in printed
    assert float(re.findall(r"^(\d\.\d+)$", printed, re.MULTILINE)[0]) > 0.9


@pytest.mark.jit
def test_the_simulate_command(tmp_path):
    command = next(line for line in "\n".join(blocks("sh")).splitlines() if "asknext simulate" in line).split()
    x = np.random.default_rng(0).random((60, 3))
    np.savez(tmp_path / "FILE.npz", X=x, y=x[:, 0] > x[:, 1])
    command[0] = str(ROOT / command[0])
    command[command.index("100")] = "12"
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "unc" in done.stdout
    assert (tmp_path / "curves.png").exists()


@pytest.mark.parametrize("command", re.findall(r"^(make \w+)", "\n".join(blocks("sh")), re.MULTILINE))
def test_commands_are_known_to_make(command):
    """`make test` runs this very test, so commands are only asked for, not run."""
    done = subprocess.run([*command.split(), "--dry-run"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_serve_says_that_it_is_to_come():
    done = subprocess.run([ROOT / ".venv/bin/asknext", "serve"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "not part of this version" in done.stdout


def test_every_argument_is_documented():
    rows = [line.split("|")[1] for line in README.splitlines() if line.startswith("| `")]
    documented = set(re.findall(r"`(\w+)`", "".join(rows)))
    assert set(GPHIKClassifier().get_params()) <= documented


def test_the_two_commands_come_first():
    assert README.index("make serve") < README.index("make test") < 1000
