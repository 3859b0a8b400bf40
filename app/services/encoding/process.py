"""A process that fits and encodes, so that the service can do something else."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Connection as Pipe
from typing import Any

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from app.encoders import Encoded, Encoder, Kind, Raw, fit, restore
from app.services.runtime.checks import Check, go_on
from app.services.runtime.jobs import ASK_EVERY, NICE

GRACE = 20.0  # seconds for a process that has done its work, and may have others to end first
# Neither sockets nor locks of the service are inherited, and the encoders are imported once, not for each import.
_METHOD = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
CONTEXT: Any = multiprocessing.get_context(_METHOD)
PRELOADED = ["app.encoders", "sklearn.cluster", "sklearn.feature_extraction.text"]
OnStep = Callable[[int], object]


class EncodingFailed(Exception):  # noqa: N818
    """The process ended without an answer."""


class EncodingProcess:
    """Fits and encodes where it holds up nobody: the event loop and the writer have the interpreter for themselves.

    `on_step` is called now and then with the number of items done; what it raises ends the work. An item that ends the
    process (a picture that its library cannot stand) is broken, and another process does the rest.
    """

    def __init__(
        self, kind: Kind, check: Check = go_on, *, downloads: bool = False, daemon: bool | None = None
    ) -> None:
        self._kind, self._check, self._state = kind, check, b""
        self._downloads, self._daemon = downloads, daemon
        self._start()

    def __enter__(self) -> "EncodingProcess":
        return self

    def __exit__(self, error: object, *_: object) -> None:
        self._end(0.0 if error else GRACE)

    @property
    def is_alive(self) -> bool:
        """Whether it can be asked."""
        return bool(self._process.is_alive())

    def close(self) -> None:
        """End the process, whatever it does."""
        self._end(0.0)

    def _start(self) -> None:
        CONTEXT.set_forkserver_preload(PRELOADED)
        self._pipe, other = CONTEXT.Pipe()
        self._process = CONTEXT.Process(
            target=_work, args=(other, self._downloads), name="encoding", daemon=self._daemon
        )
        starting = threading.Thread(target=self._process.start, name="encoding-start", daemon=True)
        starting.start()
        try:
            while starting.is_alive():  # the first of all imports libraries, which takes seconds
                starting.join(ASK_EVERY)
                self._check()
        except BaseException:
            threading.Thread(target=self._abandon, args=(starting, other), daemon=True).start()
            raise
        other.close()

    def _abandon(self, starting: threading.Thread, other: Pipe) -> None:
        """End a process as soon as it has started, since nobody needs it any more."""
        starting.join()
        other.close()
        self._end(0.0)

    def _end(self, grace: float) -> None:
        self._pipe.close()  # which ends it when it looks
        self._process.join(grace)
        self._process.kill()  # and its own processes with it: they look for their parent
        self._process.join()
        self._process.close()

    def fit(self, raws: Sequence[Raw], options: Mapping[str, Any], on_step: OnStep) -> bytes:
        """The state of a new encoder, which is also the one that encodes from now on."""
        self._state = bytes(self._call("fit", (self._kind, raws, options), on_step))
        return self._state

    def load(self, state: bytes) -> None:
        """Encode with this one from now on."""
        self._state = state
        self._call("load", (state,), lambda _: None)

    def encode(self, raws: Sequence[Raw], on_step: OnStep) -> Encoded:
        """Rows of these items."""
        try:
            encoded: Encoded = self._call("encode", (raws,), on_step)
        except EncodingFailed:
            if not raws:
                raise
            self._end(GRACE)
            self._start()
            self.load(self._state)
            if len(raws) == 1:
                return replace(self.encode([], on_step), broken={0: "damaged: it cannot be read"})
            half = len(raws) // 2
            return joined(self.encode(raws[:half], on_step), self.encode(raws[half:], on_step), half)
        return encoded

    def _call(self, name: str, args: tuple[Any, ...], on_step: OnStep) -> Any:
        try:
            self._pipe.send((name, args))
            done = 0
            while True:
                while not self._pipe.poll(ASK_EVERY):
                    on_step(done)
                outcome, value = self._pipe.recv()
                if outcome == "step":
                    done = value
                    on_step(done)
                    self._pipe.send("go on")
                elif outcome == "failed":
                    raise value
                else:
                    return value
        except (EOFError, BrokenPipeError, ConnectionResetError) as error:
            raise EncodingFailed(
                "the process that reads the items ended unexpectedly: the machine may be short of memory"
            ) from error


def joined(first: Encoded, second: Encoded, place: int) -> Encoded:
    """One after the other, the second from this place on."""
    stack = sp.vstack if sp.issparse(first.table) else np.vstack
    return Encoded(
        stack([first.table, second.table]),
        first.good + [place + other for other in second.good],
        first.broken | {place + other: reason for other, reason in second.broken.items()},
    )


def _work(pipe: Pipe, downloads: bool) -> None:
    """The main function of the process: does one call after the other until the service closes the pipe."""
    os.nice(NICE)
    if not downloads:
        os.environ["HF_HUB_OFFLINE"] = "1"  # read when the libraries of pretrained models are imported
    threadpool_limits(1)  # threads that wait for each other on busy cores are slower than one
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the service ends it
    encoder: list[Encoder] = []

    def on_step(done: int) -> None:
        pipe.send(("step", done))
        pipe.recv()

    def do(name: str, args: tuple[Any, ...]) -> Any:
        if name == "encode":
            return encoder[0].encode(args[0], on_step)
        encoder[:] = [fit(*args, on_step=on_step) if name == "fit" else restore(*args)]
        encoder[0].encode([])  # which finds out at once that a pretrained model is not there
        return encoder[0].state() if name == "fit" else None

    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            name, args = pipe.recv()
            try:
                answer = "done", do(name, args)
            except ValueError as error:
                answer = "failed", ValueError(str(error))
            pipe.send(answer)
