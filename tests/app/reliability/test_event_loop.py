"""The event loop only passes things on: what takes time with the size of a request is done by other threads."""

import gc
import json
import os
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest

from tests.app.input.calls import JSON_TYPE, client, made, new_project
from tests.app.live import in_thread

N, CLASSES = 10_000, [f"class {i}" for i in range(20)]
SHARE = 0.2  # of the processor time, at most
HELD = 0.1  # seconds of processor time, at most


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """(client, path of a project with items and a model, thread of the event loop)"""
    others = set(threading.enumerate())  # of servers that share the process
    with in_thread(None, tmp_path_factory.mktemp("data")) as (address, _), client(address) as http:
        body = {"name": "p", "classes": CLASSES, "settings": {"retrain": "off", "kernel": "hik", "complement": True}}
        path = f"/v1/projects/{made(http.post('/v1/projects', json=body))['id']}"
        rows = np.random.default_rng(0).integers(0, 9, (N, 3)) / 8
        items = [{"key": f"i{i}", "features": row, "data": {"text": "x" * 200}} for i, row in enumerate(rows.tolist())]
        made(http.post(f"{path}/items", json={"items": items}))
        labels = [{"key": f"i{i}", "label": name} for i, name in enumerate(CLASSES)]
        made(http.post(f"{path}/labels", json={"labels": labels}))
        (loop,) = [thread.native_id for thread in set(threading.enumerate()) - others if thread.name == "server"]
        yield http, path, loop


def processor_time(loop):
    """(seconds of the event loop, seconds of all other threads but the caller's)."""
    seconds = {}
    for path in Path("/proc/self/task").glob("*/schedstat"):
        seconds[int(path.parent.name)] = int(path.read_text().split()[0]) / 1e9
    del seconds[os.getpid()]  # the caller's
    own = seconds.pop(loop)
    return own, sum(seconds.values())


def predict(http, path):
    found = made(http.post(f"{path}/predict", json={"keys": [f"i{i}" for i in range(N)]}))["predictions"]
    assert len(found) == N
    assert list(found[-1]["probabilities"]) == CLASSES


def predict_rows(http, path):
    rows = np.random.default_rng(1).random((3000, 3)).tolist()
    assert len(made(http.post(f"{path}/predict", json={"features": rows}))["predictions"]) == 3000


def add_items(http, path):
    """The same again, which changes nothing."""
    rows = np.random.default_rng(0).integers(0, 9, (N, 3)) / 8
    items = [{"key": f"i{i}", "features": row, "data": {"text": "x" * 200}} for i, row in enumerate(rows.tolist())]
    assert made(http.post(f"{path}/items", json={"items": items}))["unchanged"] == N


def look(http, path):
    for cursor in range(0, 5000, 1000):
        assert len(made(http.get(f"{path}/items?limit=1000&cursor={cursor}"))["items"]) == 1000


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="the system does not tell threads apart")
@pytest.mark.parametrize("call", [predict, predict_rows, add_items, look])
def test_the_event_loop_only_passes_things_on(place, call):
    *where, loop = place
    before = processor_time(loop)
    call(*where)
    own, others = np.subtract(processor_time(loop), before)
    print(f"{call.__name__}: event loop {1000 * own:.0f} ms, other threads {1000 * others:.0f} ms")
    assert own < SHARE * (own + others)


@contextmanager
def waking():
    """What a thread that wakes up every millisecond waits for the interpreter, in processor time that others take.

    So that it hardly matters what else the machine does.
    """
    seconds, ended = [], threading.Event()

    def wake():
        with suppress(OSError):  # not every user may go first
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), -15)
        while not ended.is_set():
            before = time.process_time()
            time.sleep(0.001)
            seconds.append(time.process_time() - before)

    gc.collect()
    gc.freeze()  # as `asknext serve` does
    thread = threading.Thread(target=wake)
    thread.start()
    try:
        yield seconds
    finally:
        ended.set()
        thread.join()
        gc.unfreeze()


def test_no_large_body_holds_the_interpreter_for_long(place):
    """Some 4 MB of numbers each, as new items and as rows to predict: other threads take turns with what is done."""
    http, *_ = place
    rows = np.random.default_rng(2).random((8000, 64)).round(4).tolist()
    bodies = {
        "items": {"items": [{"key": f"new-{i}", "features": row} for i, row in enumerate(rows)]},
        "predict": {"features": rows},
    }
    path = f"/v1/projects/{new_project(http, 4, n_columns=64)}"
    made(http.post(f"{path}/labels", json={"labels": [{"key": "i0", "label": "cat"}, {"key": "i3", "label": "dog"}]}))
    for call, body in bodies.items():
        content = json.dumps(body)
        with waking() as seconds:
            assert http.post(f"{path}/{call}", content=content, headers=JSON_TYPE).is_success
        print(f"{call}: {len(content) / 1e6:.1f} MB, held for {1000 * max(seconds):.0f} ms")
        assert max(seconds) < HELD
