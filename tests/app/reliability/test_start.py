"""L6: no room for numba's cache, or a damaged one, does not stop the start."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.app.live import ADMIN, wait_until_ready
from tests.app.reliability.servers import TORTURE, scaled

ROOT = Path(__file__).parents[3]
ROOT_WITHOUT_RIGHTS = ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override"]


@pytest.fixture
def site():
    """A copy of the packages, and a folder for data."""
    with tempfile.TemporaryDirectory(prefix="asknext-site-") as name:
        folder = Path(name)
        for package in ("core", "app", "migrations"):
            shutil.copytree(ROOT / package, folder / package)
        (folder / "data").mkdir()
        yield folder


def caches(site):
    return sorted(site.rglob("*.nb[ic]"))


@contextmanager
def started(site, before=(), **environment):
    """`asknext serve` from the copy, in an environment with almost nothing in it: no HOME, for one."""
    environment |= {"PATH": os.environ["PATH"], "PYTHONPATH": str(site), "ASKNEXT_ADMIN_KEY": ADMIN}
    command = [*before, sys.executable, "-m", "app", "serve", "--port", "0", "--data-dir", str(site / "data")]
    process = subprocess.Popen(command, cwd=site, env=environment, stderr=subprocess.PIPE, text=True)
    try:
        lines = []
        for line in process.stderr:
            lines.append(line)
            if "Listening on " in line:
                break
        else:
            pytest.fail("".join(lines))
        yield line.split("Listening on ")[1].strip()
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def test_a_site_that_cannot_be_written(site):
    """Nor is there a place for a cache elsewhere."""
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        pytest.skip("root writes what is read-only; needs setpriv")
    for file in caches(site):
        file.unlink()
    for folder in [path for path in site.rglob("*") if path.is_dir() and path.name != "data"]:
        folder.chmod(0o555)
    without_rights = ROOT_WITHOUT_RIGHTS if os.geteuid() == 0 else ()
    nowhere = {"XDG_CACHE_HOME": "/proc/nowhere", "NUMBA_CACHE_DIR": "/proc/nowhere"}
    with started(site, without_rights, **nowhere) as address:
        wait_until_alive(address)
        if TORTURE:  # compiling everything takes a while
            wait_until_ready(address, 300)
    assert caches(site) == []


def wait_until_alive(address, seconds=60.0):
    """Not ready while kernels are compiled, but there."""
    end = time.monotonic() + seconds
    while True:
        try:
            answer = httpx.get(f"{address}/health/ready")
            break
        except httpx.TransportError:
            assert time.monotonic() < end
            time.sleep(0.05)
    assert (answer.status_code, answer.json()["status"]) == (503, "restoring")


def test_a_damaged_cache(site):
    damaged = caches(site)[:: 1 if TORTURE else 12]
    assert damaged
    for n, file in enumerate(damaged):
        content = file.read_bytes()
        file.write_bytes((content[: len(content) // 2], b"", b"\\x80\\x04nonsense")[n % 3])
    with started(site) as address:
        wait_until_ready(address, scaled(60, 300))
