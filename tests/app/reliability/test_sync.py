"""D3: the disk is synced between a request and its 2xx. The settings of the connections are tested in tests/app/db."""

import re
import shutil
import subprocess
import time

import pytest

from tests.app.reliability.people import Site
from tests.app.reliability.servers import scaled

POSTS = scaled(5, 200)
CALLS = "fsync,fdatasync,recvfrom,read,write,writev,sendto,sendmsg"
PATTERNS = {"request": r'"POST /v1/\S+/labels ', "synced": r"\b(fsync|fdatasync)\b.*= 0$", "answer": r'"HTTP/1\.1 201'}


@pytest.fixture
def strace(tmp_path):
    """Starts strace on a process."""
    if shutil.which("strace") is None:
        pytest.skip("needs strace")
    started = []

    def watch(pid):
        log = tmp_path / "strace"
        command = ["strace", "-f", "-y", "-s", "4000", "-e", f"trace={CALLS}", "-o", str(log), "-p", str(pid)]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        started.append(process)
        line = process.stderr.readline()
        if "attached" not in line:
            pytest.skip(f"strace may not watch: {line}")
        return log

    yield watch
    for process in started:
        process.terminate()
        process.wait()
        process.stderr.close()


def test_the_log_is_synced_before_the_answer(serve, sqlite_url, strace):
    server = serve(sqlite_url)
    with Site(server.address, 50, 1, retrain="off") as site:
        log = strace(server.process.pid)
        time.sleep(0.2)
        for n in range(POSTS):
            assert site.post(site.people[0], f"note-{n}", site.keys[n % 50], "red").status_code == 201
        server.kill()
    order = []
    for line in log.read_text(errors="replace").splitlines():
        order += [word for word, pattern in PATTERNS.items() if re.search(pattern, line)]
    assert order.count("answer") == POSTS
    while "answer" in order:
        end = order.index("answer")
        assert "synced" in order[order.index("request") : end], "answered before the disk was synced"
        del order[: end + 1]
