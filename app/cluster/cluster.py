"""A Dask cluster as an engine for tables and pools: functions go to its workers, and what they find comes back."""

import asyncio
import ipaddress
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle, pairwise
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import cloudpickle
import dask
from distributed import Client, Future, Security, wait

from app.cluster import work
from app.cluster.errors import ClusterLost
from app.cluster.parts import ClusterParts
from core.histograms import Chunked
from core.histograms.chunked import BLOCK_ROWS

log = logging.getLogger(__name__)

T = TypeVar("T")

CONNECT_SECONDS = 10.0
PATIENCE = 30.0  # seconds without a single worker after which work is given up
LOOK_EVERY = 2.0  # seconds, for workers while work is waited for


class Cluster:
    """A Dask scheduler and its workers. Any thread may use it; it connects when it is first used, and again if need be.

    What was sent stays known to the scheduler as long as anything made of it is in use: so what a lost worker held is
    made again by the others, from where it was read, by the same steps.
    """

    def __init__(self, address: str, *, security: Security | None = None, part_rows: int = BLOCK_ROWS) -> None:
        self.address = address
        self.part_rows = part_rows
        self._security = security
        self._client: Client | None = None
        self._connecting = threading.Lock()
        self.bytes_sent = 0  # all that was sent to workers
        warn_of_open_address(address)
        # After a training, variances come from a table of level pairs, which may be some hundred megabytes.
        dask.config.set({"distributed.admin.large-graph-warning-threshold": "4GB"})

    @property
    def client(self) -> Client:
        """A connection that is open."""
        with self._connecting:
            if self._client is None or self._client.status != "running":
                self._close()
                try:
                    self._client = Client(
                        self.address, security=self._security, timeout=CONNECT_SECONDS, set_as_default=False
                    )
                except (OSError, TimeoutError) as error:
                    raise ClusterLost(f"no Dask scheduler answers at {self.address}: {error}") from error
            return self._client

    def close(self) -> None:
        """End the connection; what is on the workers is released."""
        with self._connecting:
            self._close()

    def _close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.close(timeout=5)

    def reduce(self, table: Chunked, look: Callable[[Any], T], join: Callable[[T, T], T]) -> Any:
        """A map over the blocks of a table and a tree of joins, neighbours first."""
        found = self.map(work.look_at_block, *self._ranges(table.shape[0]), self.send((table.read, look)))
        return self.joined(found, join)

    def joined(self, level: list[Future[Any]], join: Callable[[Any, Any], Any]) -> Any:
        """What workers have found, in a tree of joins, neighbours first; only the last comes here."""
        joins = self.send(join)
        while len(level) > 1:
            pairs, last = list(zip(level[::2], level[1::2], strict=False)), level[len(level) // 2 * 2 :]
            level = [*self.map(work.joined, *map(list, zip(*pairs, strict=True)), joins), *last]
        return self.gather(level)[0]

    def parts(self, table: Chunked, code: Callable[[Any], Any]) -> ClusterParts:
        """The rows of a table as parts of a pool: read and coded by whoever is to hold them."""
        firsts, lasts = self._ranges(table.shape[0])
        futures = self.map(work.first_part, firsts, lasts, self.send((table.read, code)), spread=True)
        return ClusterParts(self, (*firsts, table.shape[0]), tuple(futures))

    def send(self, value: Any) -> Future[Any]:
        """Send a value to the workers; a copy, so that it may change here."""
        data = cloudpickle.dumps(value)
        self.bytes_sent += len(data)
        return self.client.submit(work.received, data, pure=False)

    def map(self, function: Callable[..., Any], *arguments: Any, spread: bool = False) -> list[Future[Any]]:
        """The function for each entry of the arguments that are lists; the others are the same for all."""
        size = max(len(argument) for argument in arguments if isinstance(argument, list))
        lists = [argument if isinstance(argument, list) else [argument] * size for argument in arguments]
        client = self.client
        if any(isinstance(first, Future) and first.client is not client for first, *_ in lists):
            raise ClusterLost(f"the connection to {self.address} was lost, and with it what workers held")
        with self._telling_of_losses():
            if not spread:
                return list(client.map(function, *lists, pure=False))
            workers = sorted(client.scheduler_info(n_workers=-1)["workers"])
            placements = cycle([{"workers": [w], "allow_other_workers": True} for w in workers] or [{}])
            entries = zip(*lists, strict=True)
            return [client.submit(function, *entry, pure=False, **next(placements)) for entry in entries]

    def gather(self, futures: Sequence[Future[Any]]) -> list[Any]:
        """What the workers found; their errors are raised here."""
        with self._telling_of_losses():
            self._wait(futures)
            return list(self.client.gather(list(futures)))

    @contextmanager
    def _telling_of_losses(self) -> Iterator[None]:
        try:
            yield
        except (asyncio.CancelledError, OSError, TimeoutError) as error:
            raise ClusterLost(f"the Dask cluster at {self.address} was lost: {error!r}") from error

    def _wait(self, futures: Sequence[Future[Any]]) -> None:
        """Wait until all are done: for a worker that is lost, but not for long for a cluster without any."""
        alone_since: float | None = None
        while True:
            try:
                with self.client.as_current():  # for `wait`, which takes no client
                    wait(list(futures), timeout=LOOK_EVERY)
                return
            except TimeoutError:
                client = self.client
                if any(future.status == "cancelled" for future in futures):  # lost ones are made again
                    raise ClusterLost(f"the Dask scheduler at {self.address} was restarted") from None
                if client.scheduler_info(n_workers=-1)["workers"]:
                    alone_since = None
                    continue
                alone_since = alone_since or time.monotonic()
                if time.monotonic() > alone_since + PATIENCE:
                    raise ClusterLost(f"the Dask scheduler at {self.address} has no workers") from None

    def _ranges(self, n: int) -> tuple[list[int], list[int]]:
        cuts = [*range(0, n, self.part_rows), n]
        ranges = list(pairwise(cuts))
        return [first for first, _ in ranges], [last for _, last in ranges]


def security_of(ca_file: Path | None, cert: Path | None, key: Path | None) -> Security | None:
    """For tls:// addresses: whose certificates are trusted, and which is ours."""
    if ca_file is None and cert is None and key is None:
        return None
    files = {"tls_ca_file": ca_file, "tls_client_cert": cert, "tls_client_key": key or cert}
    return Security(require_encryption=True, **{name: str(path) for name, path in files.items() if path is not None})


def warn_of_open_address(address: str) -> None:
    """Whoever reaches a scheduler without TLS can run code on it and on all workers."""
    parts = urlsplit(address)
    if parts.scheme == "tcp" and not is_loopback(parts.hostname or ""):
        log.warning(
            "%s is not on this machine and has no TLS: anyone who reaches the scheduler can run code on it, on its "
            "workers and with what these may read. Use tls:// with ASKNEXT_DASK_CA, ASKNEXT_DASK_CERT and "
            "ASKNEXT_DASK_KEY, or a network that nobody else is in.",
            address,
        )


def is_loopback(host: str) -> bool:
    """Whether a host is this machine.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("localhost"), is_loopback("10.0.0.5")
    (True, True, True, False)
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
