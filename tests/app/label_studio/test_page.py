"""What the page about Label Studio shows works when it is pasted."""

import os
import re
import shlex
import subprocess
import sys
import types
from pathlib import Path

import pytest
from typer.testing import CliRunner

from app.cli import app
from tests.app.conftest import site_on
from tests.app.label_studio import wire
from tests.app.label_studio.stand_in import TOKEN, stand_in
from tests.app.live import ADMIN

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "app" / "label_studio" / "README.md"


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with site_on("sqlite", tmp_path_factory.mktemp("site"), None) as site:
        yield site


@pytest.fixture(scope="module")
def project(site):
    project = site.project(("ham", "spam"))
    project.add([[1.0, 0.0], [0.0, 1.0], [0.9, 0.1], [0.2, 0.8]], data={"k0": {"text": "hello"}})
    project.label({"k0": "ham", "k1": "spam"})
    return project


def test_both_pages_show_the_same_command(site, project):
    (line,) = [line for line in "".join(blocks("sh")).splitlines() if "connect" in line]
    assert line in (ROOT / "README.md").read_text()
    with stand_in() as (remote, address):
        remote.schema = wire.config(classes=("ham", "spam"))
        line = line.replace("http://127.0.0.1:8080", address).replace("TOKEN", TOKEN).replace("$KEY", ADMIN)
        more = ["--asknext-url", str(site.http.base_url), "--asknext-project", project.path.rsplit("/", 1)[1]]
        done = CliRunner().invoke(app, [*shlex.split(line)[1:], *more])
    assert done.exit_code == 0, done.output


def test_predict_one_with_curl(site, project):
    (line,) = [line for line in "".join(blocks("sh")).splitlines() if "curl" in line]
    line = line.replace('{"text": "You have won a prize"}', '{"features": [0.1, 0.9]}')
    own = {
        "URL": f"{str(site.http.base_url).rstrip('/')}/v1",
        "PROJECT": project.path.rsplit("/", 1)[1],
        "AUTH": f"Authorization: Bearer {ADMIN}",
        "JSON": "Content-Type: application/json",
    }
    done = subprocess.run(["bash", "-euc", line], env=os.environ | own, capture_output=True, text=True, check=False)
    assert '"label":"spam"' in done.stdout, done.stdout + done.stderr


def test_the_recipe_for_prodigy(site, project, monkeypatch):
    """Prodigy is not free to install: its part is to take what the recipe gives and to call it back."""
    prodigy = types.ModuleType("prodigy")
    prodigy.recipe = lambda *name, **options: lambda function: function
    monkeypatch.setitem(sys.modules, "prodigy", prodigy)
    (code,) = blocks("python")
    names = {}
    exec(compile(code, str(PAGE), "exec"), names)
    parts = names["asknext"]("data", project.path.rsplit("/", 1)[1], str(site.http.base_url), ADMIN)
    assert parts["view_id"] == "choice"
    shown = next(parts["stream"])
    assert [option["id"] for option in shown["options"]] == ["ham", "spam"]
    parts["update"]([shown | {"answer": "accept", "accept": ["spam"]}])
    assert project.get(f"/items/{shown['meta']['key']}")["label"] == "spam"
    parts["update"]([shown | {"answer": "ignore"}])
    assert project.get(f"/items/{shown['meta']['key']}")["history"][-1]["kind"] == "skip"
    parts["on_exit"](None)
