"""asknext label-studio connect, against a stand-in; with the real one in tests/label_studio."""

import httpx
import pytest
from typer.testing import CliRunner

from app.cli import app
from tests.app.conftest import site_on
from tests.app.label_studio import wire
from tests.app.label_studio.stand_in import TOKEN
from tests.app.live import ADMIN


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with site_on("sqlite", tmp_path_factory.mktemp("site"), None) as site:
        yield site


@pytest.fixture
def connect(site, remote):
    def run(*more, token=TOKEN):
        options = ["--url", remote.address, "--token", token, "--project", "12", "--key", ADMIN]
        options += ["--asknext-url", str(site.http.base_url), *more]
        return CliRunner().invoke(app, ["label-studio", "connect", *options])

    return run


def made(site):
    return site.get("/v1/projects?limit=1000")["projects"][-1]


def test_everything_is_made_once(connect, site, remote):
    remote.tasks = [wire.task(i + 1, text="as they said") for i in range(3)]
    remote.tasks[2]["data"] = {"other": 1}
    done = connect()
    assert done.exit_code == 0, done.output
    project = made(site)
    assert (project["name"], project["classes"]) == ("Reviews", ["Positive", "Negative"])
    assert "3 tasks and 0 annotations" in done.stdout
    assert "task 3: the task has no text" in done.stdout
    assert "webhooks carry no credentials" in done.stdout
    assert remote.settings["sampling"] == "Uncertainty sampling"
    again = connect()
    assert again.exit_code == 0, again.output
    assert made(site)["id"] == project["id"]
    (backend,) = remote.backends.values()
    (hook,) = remote.hooks.values()
    assert hook["url"] == backend["url"] + "/webhook"
    assert backend["url"] in again.stdout
    assert TOKEN not in again.stdout
    assert httpx.get(f"{backend['url']}/health").json()["status"] == "UP"


def test_what_is_in_the_way_is_said(connect, site, remote):
    remote.schema = wire.config('<Audio name="audio" value="$url"/>')
    assert "--asknext-project" in connect().stderr
    remote.guarded, remote.schema = True, wire.config()
    refused = connect()
    assert refused.exit_code == 1
    assert "USE_DEFAULT_BANNED_SUBNETS=false" in refused.stderr
    assert "/label-studio/" not in refused.stderr
    remote.guarded = False
    assert "legacy tokens are off" in connect(token="wrong").stderr
    remote.schema = wire.config(choice="multiple")
    assert "one class for each task" in connect().stderr
    remote.away = True
    assert "502" in connect().stderr


def test_items_with_features_in_a_project_that_is_there(connect, site, remote):
    remote.schema = wire.config('<Audio name="audio" value="$url"/>')
    remote.tasks = [wire.task(i + 1, url="a.wav", key=f"k{i}") for i in range(3)]
    project = site.project(("Positive", "Negative"))
    project.add([[1.0, 0.0], [0.0, 1.0], [0.5, 0.4]])
    done = connect("--asknext-project", project.path.rsplit("/", 1)[1], "--top", "2")
    assert done.exit_code == 0, done.output
    assert len(remote.queue()) == 2
