"""Bodies of requests: none is read before its route says how much it takes, and then it is counted and timed."""

import asyncio
import time
from collections.abc import Callable
from typing import Any, TypeVar, cast

from fastapi import Request
from starlette.types import Message, Receive, Scope

from app.services.problems import TooLarge, TooSlow
from app.settings import ServiceSettings

SLOWEST = 4096  # bytes a second: a body that comes faster may take as long as it needs

Limit = Callable[[ServiceSettings], int]
Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])


def body_limit(limit: Limit) -> Callable[[Endpoint], Endpoint]:
    """Declare how many bytes a route takes, where that is not what a JSON body may have."""

    def declare(endpoint: Endpoint) -> Endpoint:
        cast(Any, endpoint).body_limit = limit
        return endpoint

    return declare


def declared_limit(endpoint: Callable[..., Any]) -> Limit | None:
    """What a route was declared to take."""
    limit: Limit | None = getattr(endpoint, "body_limit", None)
    return limit


def json_limit(settings: ServiceSettings) -> int:
    """Bytes of a JSON body."""
    return settings.max_body


def allow_body(request: Request, limit: Limit) -> None:
    """Whoever asks may send a body up to this limit; called once route, key, role and project were looked at."""
    body: Incoming = request.state.body
    body.allow(limit(request.app.state.settings))


class Incoming:
    """What comes after the headers of a request, as ASGI's receive."""

    def __init__(self, scope: Scope, receive: Receive, seconds: float) -> None:
        self._declared = dict(scope["headers"]).get(b"content-length", b"")
        self._receive, self._seconds = receive, seconds
        self._limit: int | None = None
        self._received, self._waited, self._is_whole = 0, 0.0, False

    def allow(self, limit: int) -> None:
        """From now on so many bytes may be read; a header that promises more is refused at once."""
        self._limit = limit
        if self._declared.isdigit() and int(self._declared) > limit:
            raise self._too_large()

    async def __call__(self) -> Message:
        """The next piece; without a limit only whether the caller is still there."""
        if self._limit is None or self._is_whole:
            message = await self._receive()
            return {**message, "body": b""} if "body" in message else message
        message = await self._timed()
        self._received += len(message.get("body", b""))
        self._is_whole = not message.get("more_body", False)
        if self._received > self._limit:
            raise self._too_large()
        return message

    async def _timed(self) -> Message:
        """Only the time that is waited for the caller counts, not what is done with the pieces."""
        begun = time.monotonic()
        try:
            async with asyncio.timeout(self._seconds + self._received / SLOWEST - self._waited):
                return await self._receive()
        except TimeoutError as error:
            raise TooSlow(
                f"the body must come within {self._seconds:g} seconds, or at {SLOWEST} bytes a second"
            ) from error
        finally:
            self._waited += time.monotonic() - begun

    def _too_large(self) -> TooLarge:
        return TooLarge(f"the body may have {self._limit} bytes")
