"""Encoders at work: in a process of their own for imports, in a thread for a few items."""

import multiprocessing
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from sqlalchemy import Connection as DatabaseConnection

from app.db import encoders, projects
from app.encoders import Encoded, Encoder, Kind, Raw, fit, restore
from app.encoders.guess import cell_of
from app.services import features
from app.services.clock import now
from app.services.job_runner import NICE
from app.services.problems import Conflict, Invalid
from app.services.project import Project, StoredEncoder
from app.services.turns import Task

ASK_EVERY = 0.5  # seconds, whether the work is still wanted
GRACE = 1.0  # seconds for a process that is not wanted any more
# Neither sockets nor locks of the service are inherited, and the encoders are imported once, not for each import.
_METHOD = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
_CONTEXT: Any = multiprocessing.get_context(_METHOD)

EXPECTED: dict[Kind, str] = {
    "text": "a text",
    "table": "a row of cells by column",
    "vectors": "a list of all numbers",
    "image": "an import of pictures",
    "sets": "an import of sets",
}
OnStep = Callable[[int], object]


class EncodingFailed(Exception):  # noqa: N818
    """The process ended without an answer."""


class EncodingProcess:
    """Fits and encodes where it holds up nobody: the event loop and the writer have the interpreter for themselves.

    `on_step` is called now and then with the number of items done; what it raises ends the work.
    """

    def __init__(self) -> None:
        _CONTEXT.set_forkserver_preload(["app.encoders"])
        self._pipe, other = _CONTEXT.Pipe()
        self._process = _CONTEXT.Process(target=_work, args=(other,), name="encoding")
        self._process.start()
        other.close()

    def __enter__(self) -> "EncodingProcess":
        return self

    def __exit__(self, *error: object) -> None:
        self._pipe.close()  # which ends it when it looks
        self._process.join(GRACE)
        self._process.kill()
        self._process.join()
        self._process.close()

    def fit(self, kind: Kind, raws: Sequence[Raw], options: Mapping[str, Any], on_step: OnStep) -> bytes:
        """The state of a new encoder, which is also the one that encodes from now on."""
        return bytes(self._call("fit", (kind, raws, options), on_step))

    def load(self, state: bytes) -> None:
        """Encode with this one from now on."""
        self._call("load", (state,), lambda _: None)

    def encode(self, raws: Sequence[Raw], on_step: OnStep) -> Encoded:
        """Rows of these items."""
        encoded: Encoded = self._call("encode", (raws,), on_step)
        return encoded

    def _call(self, name: str, args: tuple[Any, ...], on_step: OnStep) -> Any:
        try:
            self._pipe.send((name, args))
            done = 0
            while True:
                while not self._pipe.poll(ASK_EVERY):
                    on_step(done)
                told, value = self._pipe.recv()
                if told == "step":
                    done = value
                    on_step(done)
                    self._pipe.send("go on")
                elif told == "failed":
                    raise value
                else:
                    return value
        except (EOFError, BrokenPipeError, ConnectionResetError) as error:
            raise EncodingFailed("the process that encodes has died") from error


def _work(pipe: Connection) -> None:
    """In the process: calls, one after the other, until the service closes the pipe."""
    os.nice(NICE)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the service ends it
    encoder: list[Encoder] = []

    def on_step(done: int) -> None:
        pipe.send(("step", done))
        pipe.recv()

    def do(name: str, args: tuple[Any, ...]) -> Any:
        if name == "encode":
            return encoder[0].encode(args[0], on_step)
        encoder[:] = [fit(*args, on_step=on_step) if name == "fit" else restore(*args)]
        return encoder[0].state() if name == "fit" else None

    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            name, args = pipe.recv()
            try:
                answer = "done", do(name, args)
            except ValueError as error:
                answer = "failed", ValueError(str(error))
            pipe.send(answer)


@dataclass
class KeepEncoder(Task):
    """Make a fitted encoder the project's, unless somebody was faster; the answer is the project's."""

    project: Project
    encoder: StoredEncoder
    state: bytes

    def record(self, connection: DatabaseConnection) -> None:
        """Together with the width of the features that it makes."""
        project, encoder = self.project, self.encoder
        if project.encoder is None:
            row = asdict(encoder) | {"project_id": project.id, "state": self.state, "created_at": now()}
            encoders.add(connection, row)
            projects.change(connection, project.id, width=sum(encoder.columns))
            project.encoder, project.width, project.revision = encoder, sum(encoder.columns), project.revision + 1
        self.answer = project.encoder


def state_of(project: Project) -> bytes:
    """Of the encoder that the project has."""
    with project.database.read() as connection:
        row = encoders.get(connection, project.id)
    if row is None:
        raise Conflict("this project has no encoder yet: it is fitted by the first import of raw items")
    return bytes(row.state)


def is_raw(project: Project, given: Any) -> bool:
    """Whether features must first be made of this: a text, the cells of a row, a vector that is to be encoded."""
    return isinstance(given, str | dict) or (project.encoder is not None and project.encoder.kind == "vectors")


def encode_few(project: Project, given: Sequence[Any]) -> list[bytes]:
    """Features of a few raw items of a request, in the caller's thread."""
    if project.fitted is None:
        project.fitted = restore(state_of(project))
    wanted = project.fitted.kind
    for place, one in enumerate(given):
        kind = "text" if isinstance(one, str) else "table" if isinstance(one, dict) else "vectors"
        if kind != wanted or (kind == "vectors" and not isinstance(one, list)):
            raise Invalid(f"entry {place}: expected {EXPECTED[wanted]}, since that is what this project encodes")
    encoded = project.fitted.encode([_raw(one) for one in given])
    if encoded.broken:
        place, reason = min(encoded.broken.items())
        raise Invalid(f"entry {place}: {reason}")
    return features.blobs(encoded.table)


def _raw(given: Any) -> Raw:
    if isinstance(given, dict):
        return {name: cell_of(cell) for name, cell in given.items()}
    return given if isinstance(given, str) else np.array(given, dtype=np.float64)
