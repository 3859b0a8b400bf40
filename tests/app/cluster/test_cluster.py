"""How a cluster is reached: TLS, addresses that are open to others, clusters that are not there."""

import os
import subprocess
import sys
import time

import numpy as np
import psutil
import pytest

from app.cluster.chunks import ClusterChunks
from app.cluster.cluster import Cluster, security_of, warn_of_open_address
from app.cluster.errors import ClusterLost
from core import GPHIKClassifier
from tests.app.live import free_port
from tests.core.data import word_counts

CHUNKS, ROWS = 5, 60


def chunk(i):
    x, y = word_counts(ROWS, 7, 3, seed=i)
    return x, np.array(["ant", "bee", "cat"])[y]


@pytest.mark.parametrize("settings", [{}, {"complement": True, "levels": 8}])
def test_training_data_on_workers_teaches_the_same_to_the_last_bit(cluster, settings):
    one = GPHIKClassifier(**settings).fit_chunks([chunk(i) for i in range(CHUNKS)])
    many = GPHIKClassifier(**settings).fit_chunks(ClusterChunks(cluster, chunk, CHUNKS))
    assert many.classes_.tolist() == one.classes_.tolist()
    query = chunk(9)[0]
    assert np.array_equal(many.means(query), one.means(query))
    assert np.array_equal(many.predict_variance(query), one.predict_variance(query))


def test_a_chunk_that_cannot_be_read_says_so(cluster):
    with pytest.raises(ValueError, match="there are 2 rows but 1 labels"):
        GPHIKClassifier().fit_chunks(ClusterChunks(cluster, lambda i: (np.eye(2), ["a", "b"][: 2 - i]), 2))


@pytest.mark.parametrize(
    ("address", "warned"),
    [
        ("tcp://127.0.0.1:8786", False),
        ("tcp://[::1]:8786", False),
        ("tls://10.0.0.5:8786", False),
        ("tcp://10.0.0.5:8786", True),
        ("tcp://scheduler:8786", True),
    ],
)
def test_an_address_that_others_reach_is_warned_of(address, warned, caplog):
    warn_of_open_address(address)
    assert ("anyone who reaches the scheduler can run code" in caplog.text) == warned


def test_nobody_answers(monkeypatch):
    monkeypatch.setattr("app.cluster.cluster.CONNECT_SECONDS", 0.2)
    with pytest.raises(ClusterLost, match="no Dask scheduler answers at tcp"):
        Cluster("tcp://127.0.0.1:9").send("hello")


def certificate(folder):
    """Files of a certificate that is its own authority, and of its key."""
    files = folder / "cert.pem", folder / "key.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=asknext"
    subprocess.run([*command.split(), "-out", files[0], "-keyout", files[1]], check=True, capture_output=True)
    return files[0], *files


def listening(process):
    """Addresses that a process and its children listen on."""
    family = [process, *process.children(recursive=True)]
    return {c.laddr.ip for p in family for c in p.net_connections("tcp") if c.status == psutil.CONN_LISTEN}


def test_commands_speak_tls_and_listen_on_this_machine_alone(tmp_path):
    files = certificate(tmp_path)
    address = f"tls://127.0.0.1:{free_port()}"
    names = ("ASKNEXT_DASK_CA", "ASKNEXT_DASK_CERT", "ASKNEXT_DASK_KEY")
    env = os.environ | dict(zip(names, map(str, files), strict=True)) | {"ASKNEXT_DASK": address}
    running = [
        subprocess.Popen([sys.executable, "-m", "app", command], env=env, stderr=subprocess.PIPE)
        for command in ("scheduler", "worker")
    ]
    cluster = Cluster(address, security=security_of(*files))
    try:
        end = time.monotonic() + 60
        while True:
            try:
                assert cluster.gather([cluster.send("hello")]) == ["hello"]
                break
            except ClusterLost:
                assert time.monotonic() < end
        for process in running:
            assert listening(psutil.Process(process.pid)) == {"127.0.0.1"}
    finally:
        cluster.close()
        for process in reversed(running):
            process.terminate()
            process.communicate(timeout=60)
