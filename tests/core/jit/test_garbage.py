"""Kernels never leave their arrays, whatever they are given."""

import subprocess
import sys

import pytest


@pytest.mark.jit
def test_garbage_is_refused_and_nothing_beside_the_arrays_is_written():
    found = subprocess.run(
        [sys.executable, "-m", "tests.core.jit.garbage", "100"],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert found.returncode == 0, (found.returncode, found.stderr[-300:])
    counted = [line.split() for line in found.stdout.splitlines()]
    assert all(int(refused) for *_, refused in counted)  # of every kernel
    assert sum(int(done) for *_, done, _ in counted) > 10 * len(counted)  # what is good is not refused
