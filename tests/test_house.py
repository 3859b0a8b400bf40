"""What those who work on the project rely on: targets that are told, hooks that lint, versions that are pinned."""

import os
import re
import subprocess
import tomllib
from itertools import chain
from pathlib import Path

import pytest
import yaml
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.import_graph import PACKAGES, import_graph, rooms

ROOT = Path(__file__).parent.parent
MAKEFILE = (ROOT / "Makefile").read_text()
LOCK = (ROOT / "requirements.lock").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TARGETS = re.findall(r"^([a-z][a-z-]*):", MAKEFILE, re.MULTILINE)


def make(*arguments):
    """What it prints, also where make itself runs the tests."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("MAKE") and name != "MFLAGS"}
    return subprocess.run(["make", *arguments], cwd=ROOT, env=env, capture_output=True, text=True, check=True).stdout


def recipe(target):
    """The commands of a target, as the shell sees them."""
    lines = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)[1].splitlines()
    return [line.strip().replace("$(BIN)", ".venv/bin") for line in lines]


@pytest.mark.parametrize("arguments", [(), ("help",)])
def test_help_tells_every_target_in_a_line(arguments):
    lines = make(*arguments).splitlines()
    assert [line.split()[0] for line in lines] == TARGETS
    assert all(len(line.split()) > 2 for line in lines)
    phony = re.search(r"^\.PHONY: (.*)", MAKEFILE, re.MULTILINE)[1].split()
    assert sorted(phony) == sorted(TARGETS)


def test_hooks_before_a_commit_do_what_lint_does():
    (repo,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert repo["repo"] == "local"  # nothing is downloaded
    hooks = repo["hooks"]
    assert [hook["entry"] for hook in hooks] == recipe("lint")
    assert {hook["language"] for hook in hooks} == {"system"}
    assert not any(hook["pass_filenames"] for hook in hooks)  # all of it, as make does


def pins():
    """Versions by name."""
    lines = [line for line in LOCK.splitlines() if line and not line.lstrip().startswith("#")]
    return {canonicalize_name(name): version for name, version in (line.split("==") for line in lines)}


def required():
    """Every requirement of the project, of all extras but the one that is not locked."""
    extras = {name: texts for name, texts in PROJECT["optional-dependencies"].items() if name != "embeddings"}
    return [Requirement(text) for text in [*PROJECT["dependencies"], *chain.from_iterable(extras.values())]]


@pytest.mark.parametrize("requirement", required(), ids=str)
def test_the_lock_satisfies_what_the_project_requires(requirement):
    assert requirement.marker is None or requirement.marker.evaluate(default_environment())
    assert requirement.specifier.contains(pins()[canonicalize_name(requirement.name)])


def test_the_lock_has_no_torch():
    """It comes in builds of some gigabytes: who wants the extra embeddings chooses one."""
    assert not pins().keys() & {"torch", "transformers", "sentence-transformers"}
    assert f"--extra ,{' '.join(sorted({*PROJECT['optional-dependencies']} - {'embeddings'}))})" in MAKEFILE


def test_the_lock_names_no_place():
    """The same wherever it is made: names and versions, no addresses, folders, options or builds of one machine."""
    assert not re.search(r"://|^\s*-|/(opt|home|root|tmp)|==.*\+", LOCK, re.MULTILINE)


def test_everything_is_installed_as_locked():
    assert "LOCKED := --constraint requirements.lock\n" in MAKEFILE
    installs = [line for line in MAKEFILE.splitlines() if "--editable" in line]
    assert len(installs) == 4
    assert all("$(INSTALL) $(LOCKED)" in line for line in installs)
    assert re.search(r"^\$\(VENV\)/ready:.* requirements\.lock", MAKEFILE, re.MULTILINE)


def test_the_import_graph_shows_every_room():
    graph, drawn = import_graph(), (ROOT / "tests/pictures/imports.svg").read_text()
    names = {room.rpartition(".")[2] for package in PACKAGES for room in rooms(graph, package)}
    assert {name for name in names if f">{name}<" not in drawn} == set()
