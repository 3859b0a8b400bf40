"""S3, S5, S6 and S8: nothing is fetched, files have names of our own, only this machine is served."""

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from app.settings import ServiceSettings
from tests.app.input.calls import client, imported, label, made, new_project
from tests.app.live import Process, eventually, in_thread

ROOT = Path(__file__).parents[3]


def test_nobody_connects_to_what_people_name(http):
    """An address in every place that takes a text: it is never visited."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/secret.png"
        project = made(http.post("/v1/projects", json={"name": url, "classes": [url, "other"]}))["id"]
        base = f"/v1/projects/{project}"
        data = {"image": url, "url": url, "text": f'<img src="{url}">', "$ref": url, "nested": [{"href": url}]}
        items = [{"key": url, "features": [1, 2], "data": data}, {"key": "b", "features": [2, 1], "data": data}]
        made(http.post(f"{base}/items", json={"items": items}))
        csv = f"key,x,y,image\n{url}?2,1,2,{url}\n".encode()
        assert imported(http, project, "csv", csv)["state"] == "done"
        entry = {"key": url, "label": url, "note": url}
        made(http.post(f"{base}/labels", json={"labels": [entry], "next": {"count": 2, "filter": {"image": url}}}))
        made(label(http, project, {"b": "other"}))
        for path in (base, f"{base}/items", f"{base}/items/{url}", f"{base}/model"):
            made(http.get(path))
        assert url in http.get(f"{base}/labels?history=true").text
        made(http.post(f"{base}/predict", json={"keys": [url]}))
        headers = {"Referer": url, "Origin": url, "X-Forwarded-Host": url, "Forwarded": f"host={url}"}
        made(http.post("/v1/keys", json={"name": url, "role": "reader"}, headers=headers))
        listener.settimeout(0.5)
        with pytest.raises(TimeoutError):
            listener.accept()
        with socket.create_connection(listener.getsockname()):
            listener.accept()[0].close()  # it would have been seen


def test_files_have_names_that_the_server_made(http, live):
    """Seen in the middle of an upload: no name of the caller, and nothing outside of the folder."""
    uploads, seen = live[1].uploads, []
    project = new_project(http)

    def content():
        yield b"key,x\n"
        eventually(lambda: list(uploads.glob("*")), seconds=10.0)
        seen.extend(path.name for path in uploads.iterdir())
        yield b"a,1\n"

    headers = {
        "Content-Disposition": 'attachment; filename="../../evil.py"',
        "X-File-Name": "../evil.py",
        "Slug": "/etc/evil",
    }
    params = {"format": "csv", "filename": "../evil.py", "name": "evil"}
    response = http.post(f"/v1/projects/{project}/import", params=params, content=content(), headers=headers)
    assert re.fullmatch(r"[0-9a-f]{32}\.upload", seen[0]), seen
    assert made(response)["job"] in seen[0]
    files = [path for path in live[1].settings.data_dir.rglob("*") if path.is_file()]
    assert not [path for path in files if "evil" in path.name]


def test_what_a_crash_left_behind_is_removed(tmp_path, sqlite_url):
    left = tmp_path / "uploads" / f"{'0' * 32}.upload"
    left.parent.mkdir()
    left.write_bytes(b"half")
    with in_thread(sqlite_url, tmp_path):
        assert not left.exists()


def test_the_default_is_this_machine_only(tmp_path, monkeypatch):
    monkeypatch.delenv("ASKNEXT_HOST", raising=False)
    assert ServiceSettings().host == "127.0.0.1"
    server = Process(None, tmp_path).start()
    try:
        assert server.address.startswith("http://127.0.0.1:")
        rows = [line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()]
        listening = [row[1] for row in rows if row[3] == "0A" and int(row[1].rpartition(":")[2], 16) == server.port]
        assert [address.partition(":")[0] for address in listening] == ["0100007F"]
        with client(server.address) as http:
            assert "Server" not in http.get("/health/live").headers
    finally:
        server.stop()


def test_what_compose_publishes_is_on_loopback():
    file = ROOT / "docker-compose.yml"
    if not file.exists():
        pytest.skip("there is no docker-compose.yml")
    text = file.read_text()
    published = re.findall(r"ports:\s*\[([^\]]*)\]|ports:\s*\n((?:\s+- .*\n)+)", text)
    assert published
    for inline, lines in published:
        for entry in re.findall(r'"([^"]+)"|- (\S+)', inline or lines):
            assert (entry[0] or entry[1]).startswith("127.0.0.1:"), entry
    assert "network_mode: host" not in text
    assert "privileged: true" not in text


def audited(service):
    """(packages whose advisories a service knows, why there are none)."""
    command = [sys.executable, "-m", "pip_audit", "--skip-editable", "--progress-spinner=off", "--format=json"]
    done = subprocess.run([*command, "-s", service], capture_output=True, text=True, timeout=600, check=False)
    if not done.stdout.strip():
        return [], f"{service} cannot be reached: {done.stderr.strip()[-300:]}"
    packages = json.loads(done.stdout)["dependencies"]
    why = f"{service} knows none of {len(packages)} packages: {packages[0].get('skip_reason')}"
    return [package for package in packages if "vulns" in package], why


@pytest.mark.skipif(os.environ.get("ASKNEXT_TORTURE") != "1", reason="asks services on the network; make audit")
def test_no_package_is_known_to_be_vulnerable():
    """Behind a mirror of PyPI that knows no advisories every package is passed over, which proves nothing."""
    reasons = []
    for service in ("pypi", "osv"):
        packages, why = audited(service)
        if packages:
            assert {one["name"] for one in packages} >= {"fastapi", "starlette", "uvicorn", "pydantic", "numpy"}
            assert not [one for one in packages if one["vulns"]]
            return
        reasons.append(why)
    pytest.skip(f"nothing was audited, which needs pypi.org or api.osv.dev: {'; '.join(reasons)}")
