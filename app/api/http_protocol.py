"""The HTTP protocol of a socket that cannot be held by doing nothing: uvicorn has no limits for headers and answers."""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from app.settings import ServiceSettings

MAX_HEADER_BYTES = 64 * 1024  # bytes
SLOWEST = 1024  # bytes a second of an answer


class TimedProtocol(HttpToolsProtocol):
    """The protocol of uvicorn with a timer whenever no request is being answered, and one while an answer is stuck."""

    header_seconds: float
    send_seconds: float

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._waiting: asyncio.TimerHandle | None = None
        self._stuck: asyncio.TimerHandle | None = None
        self._header_bytes: int | None = None  # of headers that are not complete, before a body or behind its chunks
        self._just_begun = False  # with the piece that is being read

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody is there, who should say something."""
        super().connection_made(transport)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody is there any more."""
        for timer in (self._waiting, self._stuck):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Something was said; saying it byte by byte does not make the time longer."""
        self._just_begun = False
        super().data_received(data)
        if self._header_bytes is not None and not self._just_begun:  # others may have come behind a large body
            self._header_bytes += len(data)
            if self._header_bytes > MAX_HEADER_BYTES:
                self._refuse_headers()
        self._watch()

    def on_message_begin(self) -> None:
        """A request begins."""
        self._header_bytes, self._just_begun = 0, True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """What follows is the body, which the application counts and times."""
        self._header_bytes = None
        super().on_headers_complete()

    def on_chunk_header(self) -> None:
        """A chunk of a body begins, or what follows the last one: headers again."""
        self._header_bytes, self._just_begun = 0, True

    def on_body(self, body: bytes) -> None:
        """It was a chunk."""
        self._header_bytes = None
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Nothing follows."""
        self._header_bytes = None
        super().on_message_complete()

    def timeout_keep_alive_handler(self) -> None:
        """Close; what is left of an answer is not waited for for ever."""
        super().timeout_keep_alive_handler()
        self.loop.call_later(self.send_seconds, self.transport.abort)

    def pause_writing(self) -> None:
        """The answer is not read as fast as it is made."""
        super().pause_writing()
        self._expect_progress()

    def resume_writing(self) -> None:
        """It is read."""
        super().resume_writing()
        if self._stuck is not None:
            self._stuck.cancel()
            self._stuck = None

    def _watch(self) -> None:
        """A timer runs while no request is being answered, and is not set anew by what comes in the meantime."""
        is_idle = self.cycle is None or self.cycle.response_complete
        if is_idle and self._waiting is None:
            self._waiting = self.loop.call_later(self.header_seconds, self._give_up)
        elif not is_idle and self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _refuse_headers(self) -> None:
        if self.cycle is None:
            self.send_400_response(f"The headers may have {MAX_HEADER_BYTES} bytes.")
        else:  # nothing is put into the answer to another request
            self.transport.abort()

    def _give_up(self) -> None:
        self._waiting = None
        if not self.transport.is_closing():
            self.transport.abort()

    def _expect_progress(self) -> None:
        left = self.transport.get_write_buffer_size()
        self._stuck = self.loop.call_later(self.send_seconds, self._check_progress, left)

    def _check_progress(self, before: int) -> None:
        """An answer may be written in one large piece: whoever reads it at some speed is not cut off."""
        if before - self.transport.get_write_buffer_size() < SLOWEST * self.send_seconds:
            self.transport.abort()
        else:
            self._expect_progress()


def protocol_class(settings: ServiceSettings) -> type[TimedProtocol]:
    """The protocol with the time limits of the settings, as uvicorn wants it: a class."""
    limits = {"header_seconds": settings.header_seconds, "send_seconds": settings.send_seconds}
    return type("LimitedProtocol", (TimedProtocol,), limits)
