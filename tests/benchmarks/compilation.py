"""The kernels: compiled once, then loaded."""

import os
import subprocess
import sys
import tempfile

from tests.benchmarks.rows import Row, seconds, times

LOAD = """
import time
start = time.perf_counter()
from core import _jit
imported = time.perf_counter()
count = _jit.compile_all()
print(count, imported - start, time.perf_counter() - imported)
"""


def kernels():
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        run = [
            subprocess.run([sys.executable, "-c", LOAD], env=environment, capture_output=True, text=True, check=True)
            for _ in range(2)
        ]
    (count, _, cold), (_, imported, warm) = (map(float, done.stdout.split()) for done in run)
    yield Row(f"compile all {count:.0f} kernel signatures", seconds(cold), aim="40 s")
    yield Row("  load them from the cache", seconds(warm), f"compile {seconds(cold)}", times(cold, warm), "2 s")
    yield Row("  import core", seconds(imported))
