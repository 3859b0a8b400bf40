"""L1, L2: many labels a second for a while, and slow work that does not stand in the way of small requests."""

import json
import os
import random
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE

import httpx
import numpy as np
import pytest

from tests.app.reliability.people import Books, Site, done
from tests.app.reliability.servers import TORTURE, scaled

pytestmark = pytest.mark.alone

RATE = 150  # labels a second
SECONDS = scaled(12, 600)
CLIENTS = 10
LABELLED = scaled(400, 2000)  # items; the model has its full size by half time, and what grows then is a leak
SLOW = 200
ROWS = scaled(300, 2000)


class Machine:
    """How busy others keep the processors."""

    def __init__(self, server):
        self._server, self._before = server, self._times(server)

    def used_by_others(self):
        """Share of all processors, since the beginning."""
        total, busy, own = (now - then for now, then in zip(self._times(self._server), self._before, strict=True))
        return max(0.0, busy - own) / total

    @staticmethod
    def _times(server):
        fields = [int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
        own = sum(
            int(ticks)
            for pid in (os.getpid(), server)
            for ticks in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        )
        return sum(fields), sum(fields) - fields[3] - fields[4], own


def megabytes(pid):
    """Memory of a process that is in use."""
    fields = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return int(fields["VmRSS"].split()[0]) / 1024


def test_a_steady_stream_of_labels(serve, sqlite_url):
    server, books = serve(sqlite_url), Books()
    with Site(server.address, 2000, CLIENTS, kernel="hik") as site:
        machine, begun = Machine(server.process.pid), time.monotonic() + 0.1

        def work(number):
            """Every post has its moment; who is late hurries."""
            rng = random.Random(number)
            for n in range(RATE * SECONDS // CLIENTS):
                time.sleep(max(0.0, begun + (n + number / CLIENTS) * CLIENTS / RATE - time.monotonic()))
                if time.monotonic() > begun + SECONDS + 1.0:
                    return
                key = rng.choice(site.keys[:LABELLED])
                books.post(site, number, f"{number}-{n}", key, site.label_of(key))

        with ThreadPoolExecutor(CLIENTS) as threads:
            all_work = [threads.submit(work, number) for number in range(CLIENTS)]
            time.sleep(SECONDS / 2)
            half = megabytes(server.process.pid)
            for one in all_work:
                one.result()
        rate, others = len(books.answers) / (time.monotonic() - begun), machine.used_by_others()
        grown, p99 = megabytes(server.process.pid) - half, float(np.quantile(books.seconds, 0.99))
        print(f"{rate:.0f} labels/s, p99 {1000 * p99:.0f} ms, {half:.0f} MB, then {grown:+.1f} MB; others {others:.0%}")
        assert books.refused == {}
        assert books.unanswered == []
        assert grown < 50 + 0.001 * RATE * SECONDS  # the service keeps about a kilobyte for each label
        books.check(site)
    assert server.stop() == 0
    if TORTURE and others < 0.2:  # the rate of a machine that others use says nothing
        assert rate > 0.9 * RATE


PROBE = """
import http.client, sys, threading, time
stop = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), stop.set()), daemon=True).start()
connection = http.client.HTTPConnection(sys.argv[1].removeprefix("http://"), timeout=60)
server = ~int(sys.argv[2]) << 3 | 2  # the clock of its processor time
while not stop.is_set():
    begun, used = time.perf_counter(), time.clock_gettime(server)
    connection.request("GET", "/health/live")
    answer = connection.getresponse()
    answer.read()
    assert answer.status == 200
    print(time.perf_counter() - begun, time.clock_gettime(server) - used)
    time.sleep(0.01)
"""


@contextmanager
def probing(server):
    """What /health/live takes, filled at the end, by a process that does nothing else.

    Pairs of seconds, and of those of processor time that the server needs meanwhile: what a machine takes that has
    time for nothing else, on one core.
    """
    command = [sys.executable, "-c", PROBE, server.address, str(server.process.pid)]
    process = subprocess.Popen(command, stdin=PIPE, stdout=PIPE, text=True)
    pairs = []
    yield pairs
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    pairs += [tuple(map(float, line.split())) for line in output.splitlines()]


def test_slow_work_does_not_stand_in_the_way(serve, sqlite_url):
    server = serve(sqlite_url)
    with Site(server.address, 500, 1, retrain="off") as site:
        for n in range(40):
            done(site.post(site.people[0], f"{n}", site.keys[n], site.label_of(site.keys[n])))
        rows = np.random.default_rng(1).dirichlet(np.ones(site.features.shape[1]), ROWS).round(4).tolist()
        headers, body = {**site.admin.headers, "Content-Type": "application/json"}, json.dumps({"features": rows})
        machine, limits = Machine(server.process.pid), httpx.Limits(max_connections=SLOW)
        with (
            httpx.Client(base_url=server.address, timeout=scaled(120, 900), limits=limits, trust_env=False) as many,
            ThreadPoolExecutor(SLOW) as threads,
            probing(server) as pairs,
        ):

            def predict(_):
                return many.post(f"{site.path}/predict", content=body, headers=headers)

            answers = list(threads.map(predict, range(SLOW)))
        (p50, used50), (p99, used99) = 1000 * np.quantile(pairs, [0.5, 0.99], axis=0)
        others = machine.used_by_others()
        print(f"alive: p50 {p50:.0f} ms, p99 {p99:.0f} ms (processor {used50:.0f}, {used99:.0f}); others {others:.0%}")
        assert {answer.status_code for answer in answers} == {200}
        assert len({answer.text for answer in answers}) == 1
        if others < 0.2:  # a thread that waits for a processor keeps the interpreter meanwhile
            assert used99 < 50
