"""S9: the address of Label Studio is an origin that an administrator of the service gave; what is there stays there."""

import pytest

from app.db import label_studio as rows
from app.label_studio.links import LabelStudio
from app.label_studio.remote import Remote, checked_address
from app.services.problems import Invalid
from tests.app.conftest import site_on
from tests.app.label_studio.stand_in import TOKEN, stand_in

MARKER = "zq-said-there-4711"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with site_on("sqlite", tmp_path_factory.mktemp("site"), None) as site:
        yield site


def link(address):
    return {"address": address, "token": TOKEN, "remote_project": 12}


def others(remote):
    """Calls of the stand-in that nobody should make."""
    return [path for _, path in remote.calls if not path.startswith("/api/")]


@pytest.mark.parametrize(
    "more",
    ["/any/path#", "/any/path?", "#", "?", "/#", "/?x=1", "/any/path", "//", "/..", "/%2e", "\\any", ";x", " /x", "@x"],
)
def test_only_an_origin_is_an_address(site, remote, more):
    project = site.project()
    assert "must look like" in project.post("/label-studio", link(remote.address + more), 422)["detail"]
    assert project.get("/label-studio")["link"] is None
    assert remote.calls == []


@pytest.mark.parametrize(
    "address",
    [
        "http://user@host",
        "http://user:word@host:80",
        "http://@host",
        "ftp://host",
        "file:///etc/passwd",
        "host:8080",
        "http://",
        "http://:80",
        "http://host:99999",
        "http://host:x",
        "http://ho%20st",
        "http://höst",
    ],
)
def test_what_is_no_address(address):
    with pytest.raises(Invalid, match="must look like"):
        checked_address(address)


@pytest.mark.parametrize(
    "address", ["http://127.0.0.1:8080", "https://labels.example", "http://[::1]:80", "HTTP://A_b"]
)
def test_what_is_an_address(address):
    assert checked_address(f" {address}/ ") == address


def test_a_projects_administrator_cannot_send_the_service_somewhere(site, remote):
    project = site.project()
    body = {"name": "own", "role": "admin", "project": project.path.rsplit("/", 1)[1]}
    own = type(site)(site.http, site.service, site.post("/v1/keys", body, 201)["key"], project.path)
    assert "administrator of the service" in own.post("/label-studio", link(remote.address), 403)["detail"]
    assert remote.calls == []
    assert own.post("/label-studio", {}, 201)["pushes"] is False
    assert project.post("/label-studio", link(remote.address), 201)["pushes"] is True


@pytest.mark.parametrize("said", [400, 403, 404, 500])
def test_what_is_answered_there_does_not_come_back(site, remote, said, caplog):
    remote.answer = lambda *_: {"detail": MARKER, "label_config": {MARKER: 1}, "validation_errors": [MARKER]}
    remote.status = said
    assert_silent(site, remote, caplog)


def test_a_project_that_is_none_does_not_come_back(site, remote, caplog):
    remote.answer = lambda *_: [MARKER]
    assert_silent(site, remote, caplog)


def test_a_redirect_is_not_followed(site, remote, caplog):
    with stand_in() as (other, elsewhere):
        remote.files["/api/projects/12/"] = f"{elsewhere}/{MARKER}"
        assert "sent us elsewhere" in assert_silent(site, remote, caplog)
        assert other.calls == []


def assert_silent(site, remote, caplog):
    """What a sync is told; the marker is neither there, nor in the link, nor in the log."""
    project = site.project(encoder="text", classes=())
    project.post("/label-studio", link(remote.address), 201)
    ended = project.wait(project.post("/label-studio/sync", status=202)["job"])
    assert ended["state"] == "failed"
    assert MARKER not in str(ended) + str(project.get("/label-studio")) + caplog.text
    assert others(remote) == []
    project.delete("/label-studio", 204)
    return ended["message"]


def test_an_address_of_an_older_version_is_not_called(site, remote):
    """One that was stored when more was taken."""
    project = site.project()
    project_id = project.path.rsplit("/", 1)[1]
    project.post("/label-studio", {}, 201)
    with site.service.database.write() as connection:
        rows.change_link(connection, project_id, address=f"{remote.address}/any/path#", token=TOKEN, remote_project=12)
    links = LabelStudio(site.service)
    links.start()
    try:
        assert "must look like" in links.describe(project_id)["problem"]
        assert links.of_project(project_id).pushes is False
    finally:
        links.stop()
    assert remote.calls == []


@pytest.mark.parametrize(
    "location",
    [
        "http://user@{}/data/a.png",
        "/data/../api/x",
        "/data/%2e%2e/api/x",
        "/data/..%5capi",
        "/api/x",
        "//{}/data/a.png",
        "http:/data/a.png",
        "http://127.0.0.1:1/data/a.png",
        "data/a.png",
        "http://{}/other/a.png",
    ],
)
def test_pictures_are_files_of_tasks_there(remote, tmp_path, location):
    host = remote.address.removeprefix("http://")
    one = Remote(remote.address, TOKEN)
    with pytest.raises(ValueError, match="own address only"):
        one.download(location.format(host), tmp_path / "a")
    one.close()
    assert remote.calls == []
