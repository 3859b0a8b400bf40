"""A pool of a million items in one process and on one and two Dask workers: the same answers, to the last bit."""

import hashlib
import os
import signal
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import scipy.sparse as sp
from distributed import Client, LocalCluster

from app.cluster.cluster import Cluster
from core import Labelling, OnlineLearner, Settings, compile_all, share_cores
from core.histograms import Chunked
from core.linalg import CodedTable
from core.posterior.parts import Moved, is_finite
from core.queries import Ask, FirstLook, Near
from tests.benchmarks.rows import Row, seconds, times

M, D, NNZ, GRID = 1_000_000, 200, 40, 32
STEP = D // NNZ  # each of them holds one entry
LABELS, MORE = 100, 10
LOOPBACK = "127.0.0.1:0"
NAMES = ("no", "yes")
MEASURED = {
    "label": "label to next item",
    "map": "  update and scores alone, processor time of the busiest",
    "whole": "mean and variance of all items, processor time of the busiest",
    "build": "reading, levels and training",
}


class Items:
    """Rows in a file that every worker maps into its memory."""

    def __init__(self, path):
        self.path = path

    def __call__(self, first, last):
        codes = np.load(self.path, mmap_mode="r")[first:last]  # of each entry, its column among a few and its value
        columns = (STEP * np.arange(NNZ) + codes // GRID).astype(np.int32)
        starts = np.arange(len(codes) + 1) * NNZ
        return sp.csr_matrix(((codes % GRID + 1.0).ravel() / GRID, columns.ravel(), starts), (len(codes), D))

    def answer(self, item):
        """A class for an item, by its features."""
        row = self(item, item + 1).toarray()[0]
        return NAMES[int(row[: D // 4].sum() > row[D // 4 : D // 2].sum())]


def begun(items, engine=None):
    some = np.linspace(0, M - 1, LABELS).astype(int).tolist()
    labelling = Labelling(NAMES, {item: items.answer(item) for item in some}, {})
    return OnlineLearner.build(Settings(), Chunked((M, D), items), labelling, engine=engine)


def campaign(learner, items):
    """Seconds from a label to the next item, and all that was seen."""
    spent, seen = [], []
    (pick,) = learner.query(1, "unc")
    for _ in range(MORE):
        name = items.answer(pick.row)
        start = time.perf_counter()
        learner.label(pick.row, name)
        (pick,) = learner.query(1, "unc")
        spent.append(time.perf_counter() - start)
        seen.append(pick)
    return spent, seen


def digest(learner):
    """Of all means and variances."""
    return hashlib.sha256(learner.mean.tobytes() + learner.variance.tobytes()).hexdigest()


def verdict(same):
    return "the same bits" if same else "OTHERS"


def busiest(client, work):
    """Processor seconds of the worker that had most to do; of this process without a cluster."""
    before = client.run(time.process_time) if client else {"": time.process_time()}
    work()
    after = client.run(time.process_time) if client else {"": time.process_time()}
    return max(after[worker] - before[worker] for worker in before)


def update_and_scores(learner):
    """What is done with the pool for a label and a question, some times over."""
    change = Moved(CodedTable(np.full((len(learner._model.operator.levels), 1), 1e-9)), np.ones((1, 2)), 1e-9)
    look = FirstLook(Ask("unc"), learner.noise, Near())
    free = np.ones(M, dtype=bool)
    for _ in range(MORE):
        learner._model.parts.map(change).collect(look, along=free)


def refreshed(learner):
    """Mean and variance of all items from scratch: the map alone."""
    learner._model.refresh()
    learner._model.parts.collect(is_finite)


def pin(dask_worker):
    """One core for each worker, so that two of them are twice as much."""
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[int(str(dask_worker.name)) % len(cores)]})
    compile_all()


@contextmanager
def workers(count):
    with (
        LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address=LOOPBACK,
            worker_dashboard_address=LOOPBACK,
            memory_limit=0,
        ) as dask,
        Client(dask) as client,
    ):
        client.run(pin)
        cluster = Cluster(dask.scheduler_address)
        yield cluster, client
        cluster.close()


def kill(client):
    os.kill(client.run(os.getpid).popitem()[1], signal.SIGKILL)


def killed(after, client, work):
    """What work gives although a worker is killed on the way, and the seconds it took."""
    start = time.perf_counter()
    with ThreadPoolExecutor(1) as executor:
        found = executor.submit(work)
        time.sleep(after)
        in_time = not found.done()
        kill(client)
        return found.result(), in_time, time.perf_counter() - start


def large_pool():
    with tempfile.NamedTemporaryFile(suffix=".npy") as file:
        np.save(file, np.random.default_rng(0).integers(0, STEP * GRID, size=(M, NNZ), dtype=np.uint8))
        file.flush()
        yield from measured(Items(file.name))


def measured(items):
    share_cores()
    compile_all()
    here = {}
    start = time.perf_counter()
    learner = begun(items)
    here["build"] = time.perf_counter() - start
    spent, picked = campaign(learner, items)
    alone, here["label"] = digest(learner), float(np.median(spent))
    here["map"] = busiest(None, lambda: update_and_scores(learner)) / MORE
    here["whole"] = busiest(None, lambda: refreshed(learner))
    fresh = learner.query(1, "unc"), digest(learner)
    what = f"label to next item, {M:,} items of {NNZ} non-zeros"
    yield Row(what, f"{seconds(here['label'])} (worst {seconds(max(spent))})", "in one process", aim="250 ms")
    del learner
    first = {}
    for count in (1, 2):
        with workers(count) as (cluster, client):
            start = time.perf_counter()
            learner = begun(items, cluster)
            learner._model.parts.collect(is_finite)
            figures = {"build": time.perf_counter() - start}
            sent = cluster.bytes_sent
            spent, seen = campaign(learner, items)
            sent = (cluster.bytes_sent - sent) / MORE
            same = seen == picked and digest(learner) == alone
            figures["label"] = float(np.median(spent))
            figures["map"] = busiest(client, lambda learner=learner: update_and_scores(learner)) / MORE
            figures["whole"] = busiest(client, lambda learner=learner: refreshed(learner))
            first = first or figures
            yield Row(f"{count} Dask worker{'s' * (count > 1)}, a core each", verdict(same), "one process", aim="same")
            for name, label in MEASURED.items():
                compared = f"one worker {seconds(first[name])}, one process {seconds(here[name])}"
                yield Row(f"  {label}", seconds(figures[name]), compared, times(first[name], figures[name]))
            yield Row("  sent for a label and a question", f"{sent / 1e3:.0f} kB")
            if count == 2:
                yield from deaths(items, cluster, client, learner, fresh, picked, alone, figures["build"])


def deaths(items, cluster, client, learner, fresh, picked, alone, build):
    """Workers are killed in the middle of scoring, and one in the middle of training."""
    kill(client)  # what it held is read again, and in the middle of that another dies
    pick, in_time, took = killed(1.0, client, lambda: learner.query(1, "unc"))
    same = (pick, digest(learner)) == fresh
    yield Row("  two killed, one in the middle of scoring", verdict(same and in_time), f"after {seconds(took)}")
    del learner
    learner, in_time, took = killed(min(5.0, build / 4), client, lambda: begun(items, cluster))
    same = campaign(learner, items)[1] == picked and digest(learner) == alone
    yield Row("  one killed in the middle of training", verdict(same and in_time), f"after {seconds(took)}")
