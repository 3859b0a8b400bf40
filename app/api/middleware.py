"""Around every request: an id, limits, headers, a line in the log, a number for Prometheus."""

import logging
import re
import secrets
import time
from typing import Any

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.bodies import Incoming
from app.api.problems import problem_response, unexpected
from app.api.slots import Slots
from app.logs import request_id
from app.metrics import Metrics
from app.services.problems import Invalid, Problem

log = logging.getLogger("asknext.access")

HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
)
POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
GONE = 499  # the caller went away: for the log only


class Around:
    """Pure ASGI, so that streams are not held up."""

    def __init__(self, app: ASGIApp, metrics: Metrics, max_requests: int, body_seconds: float) -> None:
        self._app, self._metrics, self._body_seconds = app, metrics, body_seconds
        self._slots = Slots(max_requests, metrics.refused)
        metrics.watch(lambda: self._slots.open)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = dict(scope["headers"]).get(b"x-request-id", b"").decode("latin-1")
        own_id = given if re.fullmatch(r"[\w.-]{1,64}", given, re.ASCII) else secrets.token_hex(8)
        token = request_id.set(own_id)
        begun = time.perf_counter()
        status, started = 500, False

        async def answer(message: Message) -> None:
            nonlocal status, started
            if message["type"] == "http.response.start":
                status, started = message["status"], True
                message = _with_headers(message, own_id, scope["path"])
            await send(message)

        body = Incoming(scope, receive, self._body_seconds)
        scope.setdefault("state", {})["body"] = body
        try:
            with self._slots.take(scope):
                _check_address(scope)
                await self._app(scope, body, answer)
        except ClientDisconnect:
            status = GONE
        except Exception as error:
            if started:  # the connection is cut, so that nobody takes half an answer for a whole one
                raise
            problem = error if isinstance(error, Problem) else unexpected(error)
            await problem_response(problem)(scope, receive, answer)
        finally:
            self._note(scope, status, time.perf_counter() - begun)
            request_id.reset(token)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "unknown")
        self._metrics.answered(scope["method"], route, status, seconds)
        level = logging.DEBUG if route.startswith(("/health", "/metrics")) else logging.INFO
        fields = {"method": scope["method"], "route": route, "status": status, "ms": round(1000 * seconds, 1)}
        log.log(level, "request", extra=fields)


def _check_address(scope: Scope) -> None:
    """PostgreSQL takes no NUL, and nothing has a name with one."""
    if "\0" in scope["path"] or b"%00" in scope["query_string"]:
        raise Invalid("an address must not contain NUL characters")


def _with_headers(message: Message, own_id: str, path: str) -> Any:
    headers = [*message.get("headers", []), *HEADERS, (b"x-request-id", own_id.encode())]
    headers.append((b"content-security-policy", POLICY))
    # The page asks whether its files are still the same, so that old and new scripts never meet.
    if not any(name == b"cache-control" for name, _ in headers):
        headers.append((b"cache-control", b"no-store" if path.startswith("/v1") else b"no-cache"))
    return {**message, "headers": headers}
