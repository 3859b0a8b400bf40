"""The service over real HTTP on loopback: `asknext serve` in a process of its own, clients in this one."""

import os
import re
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import numpy as np
import scipy.sparse as sp

from tests.app.live import ADMIN, Process
from tests.benchmarks.data import sparse_rows, word_histograms
from tests.benchmarks.rows import Row, seconds, timed, times

POOL, KNOWN, CLASSES = 100_000, 1_000, 10
MANUAL = {"retrain": "off", "explore": 0.0}
NAMES = [str(c) for c in range(CLASSES)]


@contextmanager
def serving(folder, **environment):
    server = Process(None, folder, environment).start()
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def client_of(server, key=ADMIN):
    headers = {"Authorization": f"Bearer {key}"}
    with httpx.Client(base_url=server.address, headers=headers, timeout=300) as http:
        yield http


def call(http, method, path, **options):
    answer = http.request(method, path, **options)
    answer.raise_for_status()
    return answer.json()


def new_project(http, **settings):
    body = {"name": "bench", "classes": NAMES, "settings": MANUAL | settings}
    return "/v1/projects/" + call(http, "POST", "/v1/projects", json=body)["id"]


def import_rows(http, project, x):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.npz"
        sp.save_npz(path, x, compressed=False)
        begun = time.perf_counter()
        with path.open("rb") as file:
            job = call(http, "POST", f"{project}/import", params={"format": "npz"}, content=file)["job"]
    while (state := call(http, "GET", f"{project}/jobs/{job}"))["state"] in ("queued", "running"):
        time.sleep(0.1)
    assert state["state"] == "done", state
    return time.perf_counter() - begun


def entries(y, rows):
    return {"labels": [{"key": f"row-{i + 1}", "label": NAMES[y[i]]} for i in rows]}


def annotate(server, key, project, y, n, seen):
    """Answer n questions as a person would; seconds of each round trip."""
    spent = []
    with client_of(server, key) as http:
        item = call(http, "POST", f"{project}/query", json={})["items"][0]["key"]
        for _ in range(n):
            seen.append(item)
            body = entries(y, [int(item.removeprefix("row-")) - 1]) | {"next": {"count": 1}}
            begun = time.perf_counter()
            item = call(http, "POST", f"{project}/labels", json=body)["items"][0]["key"]
            spent.append(time.perf_counter() - begun)
    return spent


@contextmanager
def watched(server):
    """Seconds that /health/live takes, while something else goes on."""
    spent, done = [], threading.Event()

    def watch():
        with httpx.Client(base_url=server.address) as http:
            while not done.wait(0.02):
                spent.append(timed(lambda: http.get("/health/live").raise_for_status()))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield spent
    finally:
        done.set()
        thread.join()


def spread(values):
    return f"p50 {seconds(float(np.quantile(values, 0.5)))}, p99 {seconds(float(np.quantile(values, 0.99)))}"


def large_pool():
    x, y = word_histograms(POOL)
    with tempfile.TemporaryDirectory() as folder, serving(folder) as server, client_of(server) as http:
        project = new_project(http)
        with watched(server) as live:
            spent = import_rows(http, project, x)
        yield Row("import of 100,000 items x 128 non-zeros", seconds(spent), aim="60 s")
        yield Row("  /health/live in the meantime", spread(live), aim="p99 50 ms")
        for first in range(0, KNOWN, 500):
            call(http, "POST", f"{project}/labels", json=entries(y, range(first, first + 500)))
        with watched(server) as live:
            yield from predictions(http, project, x)
            yield from annotators(server, http, project, y)
        yield Row("  /health/live all the while", spread(live), aim="p99 50 ms")
        yield activeml(x, y)


def million():
    """A pool that is read from the database in blocks, with its codes in a mapped file."""
    x, y = sparse_rows(np.random.default_rng(0), 1_000_000, 200, 40), np.arange(1_000_000) % CLASSES
    with tempfile.TemporaryDirectory() as folder:
        with serving(folder, ASKNEXT_MAP_ABOVE="1000000") as server, client_of(server) as http:
            project = new_project(http, kernel="hik", levels=16)
            spent = import_rows(http, project, x)
            what = "import of 1,000,000 items x 40 non-zeros"
            yield Row(what, seconds(spent), f"peak memory {memory_of(server):.2f} GiB")
            call(http, "POST", f"{project}/labels", json=entries(y, range(100)))
            before = processor_of(server)
            one = annotate(server, ADMIN, project, y, 20, [])
            busy = f"processor {seconds((processor_of(server) - before) / 20)}"
            yield Row("  label to next item, one person", spread(one), busy, aim="50 ms")
        again = Process(None, folder)
        yield Row("  restart from a snapshot", seconds(timed(again.start)), f"peak memory {memory_of(again):.2f} GiB")
        again.stop()


def memory_of(server):
    """GiB the server has held at most, mapped files included."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 2**20


def processor_of(server):
    """Seconds of processor that the server has taken, all threads together."""
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def annotators(server, http, project, y):
    seen, before = [], processor_of(server)
    one = annotate(server, ADMIN, project, y, 150, seen)
    busy = f"processor {seconds((processor_of(server) - before) / 150)}"
    yield Row("label to next item, 100,000 items, 1,000 labels, one person", spread(one), busy, aim="p50 25 ms")
    keys = [call(http, "POST", "/v1/keys", json={"name": f"a{i}", "role": "annotator"})["key"] for i in range(8)]
    before = processor_of(server)
    with ThreadPoolExecutor(8) as people:
        eight = [s for part in people.map(lambda key: annotate(server, key, project, y, 25, seen), keys) for s in part]
    twice = len(seen) - len(set(seen))
    busy = f"processor {seconds((processor_of(server) - before) / 200)}, items given twice: {twice}"
    yield Row("  eight people at once", spread(eight), busy, aim="p99 150 ms")


def predictions(http, project, x):
    rows = x[:1000]
    features = [
        {
            "indices": rows.indices[rows.indptr[i] : rows.indptr[i + 1]].tolist(),
            "values": rows.data[rows.indptr[i] : rows.indptr[i + 1]].tolist(),
        }
        for i in range(1000)
    ]
    body = httpx.Request("POST", "http://x", json={"features": features}).content
    headers = {"Content-Type": "application/json"}
    spent = [timed(lambda: call(http, "POST", f"{project}/predict", content=body, headers=headers)) for _ in range(10)]
    yield Row("predict 1,000 rows with exact variances", seconds(float(np.median(spent))), aim="60 ms")
    keys = {"keys": [f"row-{i + 1}" for i in range(1000)]}
    spent = [timed(lambda: call(http, "POST", f"{project}/predict", json=keys)) for _ in range(10)]
    yield Row("  1,000 items of the pool", seconds(float(np.median(spent))))


def activeml(x, y):
    """A service-shaped loop: fit on the labels, ask for the next item of the pool."""
    from skactiveml.classifier import SklearnClassifier
    from skactiveml.pool import UncertaintySampling
    from sklearn.linear_model import LogisticRegression

    dense = x.toarray()
    labels = np.full(POOL, np.nan)
    labels[:KNOWN] = y[:KNOWN]
    model = SklearnClassifier(LogisticRegression(max_iter=300), classes=np.arange(CLASSES), random_state=0)
    strategy = UncertaintySampling(method="margin_sampling", random_state=0)
    spent = timed(lambda: strategy.query(dense, labels, clf=model, fit_clf=True))
    return Row("  a loop around scikit-activeml, logistic regression, no HTTP, no SQL", seconds(spent))


def throughput():
    x, y = word_histograms(2_000)
    with tempfile.TemporaryDirectory() as folder, serving(folder) as server, client_of(server) as http:
        project = new_project(http)
        import_rows(http, project, x)
        with ThreadPoolExecutor(8) as people:
            begun = time.perf_counter()
            spent = list(people.map(lambda i: _label_some(server, project, y, range(i, 1600, 8)), range(8)))
            pace = 1600 / (time.perf_counter() - begun)
        every = [s for part in spent for s in part]
        yield Row("durable labels a second, 2,000 items, 8 clients", f"{pace:.0f}", spread(every), aim="150")


def _label_some(server, project, y, rows):
    with client_of(server) as http:
        return [timed(lambda i=i: call(http, "POST", f"{project}/labels", json=entries(y, [i]))) for i in rows]


def restart():
    x, y = word_histograms(POOL)
    with tempfile.TemporaryDirectory() as folder:
        with serving(folder) as server, client_of(server) as http:
            project = new_project(http)
            import_rows(http, project, x)
            for first in range(0, 5_000, 500):
                call(http, "POST", f"{project}/labels", json=entries(y, range(first, first + 500)))
        again = Process(None, folder)
        warm = timed(again.start)
        again.kill()
        for path in Path(folder, "snapshots").glob("*"):
            path.unlink()
        cold = timed(again.start)
        again.stop()
    yield Row("restart, 100,000 items and 5,000 labels, from a snapshot", seconds(warm), aim="15 s")
    yield Row("  after kill -9, without one", seconds(cold), aim="60 s", ratio=times(cold, warm))
