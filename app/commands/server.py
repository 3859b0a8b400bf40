"""A service in this process, until it is told to stop."""

import gc
import signal
import socket
import sys
from contextlib import suppress

import uvicorn
from fastapi import FastAPI
from rich.console import Console
from sqlalchemy.exc import SQLAlchemyError

from app import logs
from app.api.http_protocol import protocol_class
from app.commands.demo import make_demo
from app.commands.options import fatal
from app.db.database import AlreadyOwned, DatabaseUnavailable
from app.db.errors import NewerRevision
from app.main import create_app
from app.services.problems import Forbidden
from app.services.registry.service import Service
from app.settings import ServiceSettings

GRACE = 30  # seconds for requests that are being answered when the service is told to stop
SELDOM = 1000  # collections of what is neither old nor new, 10 by default, for one of all: it holds every thread


def run(settings: ServiceSettings) -> None:
    """Say where it listens, and serve."""
    logs.set_up(settings.log_level)
    service = open_service(settings)
    say = Console(stderr=True, highlight=False, soft_wrap=True)
    listener = _listen(settings)
    address = f"http://{settings.host}:{listener.getsockname()[1]}"
    try:
        key = service.access.first_key(settings.admin_key)
    except Forbidden as problem:
        service.database.close()
        raise fatal(problem.detail) from problem
    say.print(f"AskNext: {service.database.journal}")
    if settings.demo:
        make_demo(service)
    if key is not None and settings.admin_key is None:
        say.print(f"\n  The administrator's key, which is not shown again: [bold]{key}[/]")
        say.print(f"  Open {address}/#key={key}\n")
    else:
        say.print(f"\n  Listening on {address}")
        say.print("  A key is shown only once, when it is created; asknext keys create makes another.\n")
    app = create_app(settings, service)
    config = server_config(app, settings)
    _raise_file_limit()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # uvicorn raises the signal again when all is done
    uvicorn.Server(config).run(sockets=[listener])


def server_config(app: FastAPI, settings: ServiceSettings) -> uvicorn.Config:
    """How uvicorn serves the application."""
    return uvicorn.Config(
        app,
        http=protocol_class(settings),
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE,
    )


def _keep_out_of_collections() -> None:
    """What is loaded by now stays; a garbage collection that looked at all of it would hold every thread for 0.2 s.

    The rows of requests that wait are nearly as many, and no garbage.
    """
    gc.collect()
    gc.freeze()
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, SELDOM)


def _raise_file_limit() -> None:
    """Connections are files: as many as the system allows, not as many as it begins with."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def open_service(settings: ServiceSettings) -> Service:
    """The service, or a sentence that says why not."""
    try:
        return Service(settings, when_compiled=_keep_out_of_collections)
    except AlreadyOwned as error:
        raise fatal(str(error)) from error
    except (DatabaseUnavailable, NewerRevision, SQLAlchemyError, OSError, ValueError) as error:
        raise fatal(f"the database cannot be used: {error}") from error


def _listen(settings: ServiceSettings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
    except OSError as error:
        raise fatal(f"cannot listen on {settings.host}:{settings.port}: {error.strerror}") from error
    return listener
