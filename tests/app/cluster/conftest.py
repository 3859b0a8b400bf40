"""A real Dask cluster on loopback: a scheduler and two workers, each a process of its own."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from distributed import Client, LocalCluster

from app.cluster.cluster import Cluster

LOOPBACK = "127.0.0.1:0"  # any port; without an address Dask would listen on all of them
PART_ROWS = 1024  # so that small pools are in several parts


@pytest.fixture(scope="package")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What workers are told is the data folder: a link that tests point at theirs."""
    return tmp_path_factory.mktemp("cluster") / "data"


@pytest.fixture(scope="package")
def dask_cluster(data_dir: Path) -> Iterator[LocalCluster]:
    with LocalCluster(
        env={"ASKNEXT_DATA_DIR": str(data_dir)},
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address=LOOPBACK,
        worker_dashboard_address=LOOPBACK,
    ) as cluster:
        yield cluster


@pytest.fixture
def client(dask_cluster: LocalCluster) -> Iterator[Client]:
    with Client(dask_cluster, set_as_default=False) as client:  # the service finds none, either
        client.wait_for_workers(2, timeout=60)
        yield client


@pytest.fixture
def cluster(client: Client, dask_cluster: LocalCluster) -> Iterator[Cluster]:
    """The engine of a service."""
    cluster = Cluster(dask_cluster.scheduler_address, part_rows=PART_ROWS)
    yield cluster
    cluster.close()


@pytest.fixture
def kill_a_worker(client: Client) -> Callable[[], None]:
    """SIGKILL for a worker; its nanny starts another."""

    def kill() -> None:
        os.kill(client.run(os.getpid).popitem()[1], signal.SIGKILL)

    return kill
