"""asknext scheduler and worker: Dask's own processes, with the settings of the service."""

import os
import sys
from typing import Annotated
from urllib.parse import SplitResult, urlsplit

import typer

from app.commands.options import fatal
from app.settings import ServiceSettings

Host = Annotated[str, typer.Option(help="address to listen on (default 127.0.0.1: only this machine)")]


def scheduler(host: Host = "127.0.0.1") -> None:
    """Run the Dask scheduler of ASKNEXT_DASK until Ctrl-C."""
    settings, address = _settings()
    _become("dask_scheduler", settings, "--protocol", address.scheme, "--host", host, "--port", str(address.port))


def worker(host: Host = "127.0.0.1") -> None:
    """Run a Dask worker for ASKNEXT_DASK until Ctrl-C: one for each machine, with the database that is set there."""
    settings, address = _settings()
    options = ["--protocol", address.scheme, "--host", host, "--nthreads", "1", "--memory-limit", "0"]
    _become("dask_worker", settings, address.geturl(), *options, "--preload", "app.cluster.work")


def _settings() -> tuple[ServiceSettings, SplitResult]:
    settings = ServiceSettings()
    address = urlsplit(settings.dask or "")
    if address.port is None:
        raise fatal("set ASKNEXT_DASK to the address of the scheduler, as in tcp://127.0.0.1:8786")
    return settings, address


def _become(module: str, settings: ServiceSettings, *arguments: str) -> None:
    """Whatever stops us stops Dask."""
    files = {"--tls-ca-file": settings.dask_ca, "--tls-cert": settings.dask_cert, "--tls-key": settings.dask_key}
    tls = [word for option, path in files.items() if path is not None for word in (option, str(path))]
    own = [sys.executable, "-m", f"distributed.cli.{module}", *arguments]
    os.execv(sys.executable, [*own, "--dashboard-address", "127.0.0.1:0", *tls])
