"""Strict JSON bodies: the right content type, no NaN, no infinity, no lone surrogates, no deep nesting."""

import re
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic_core import from_json

from app.api.bodies import allow_body, declared_limit, json_limit
from app.services.problems import Invalid, WrongType

SMALL = 16 * 1024  # bytes that are read faster than another thread takes over
PORTION = 128 * 1024  # bytes that are read in a millisecond, in which no other thread has its turn
BETWEEN = {  # two elements of a list, by the first byte of the first of all
    b"{": re.compile(rb"\}\s*(,)\s*\{"),
    b"[": re.compile(rb"\]\s*(,)\s*\["),
    b'"': re.compile(rb'"\s*(,)\s*"'),
}


class StrictRoute(APIRoute):
    """Reads the body itself, where the route takes one."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Read and check the body first, then go on as usual."""
        handle, field = super().get_route_handler(), self.body_field
        limit = declared_limit(self.endpoint) or (None if field is None else json_limit)

        async def strict(request: Request) -> Response:
            if limit is not None:
                allow_body(request, limit)
            if field is not None:
                request._json = await _checked(request, field)
            return await handle(request)

        return strict


async def _checked(request: Request, field: Any) -> Any:
    """The body as the route's model, which FastAPI passes on as it is; large ones are not read on the event loop."""
    pieces = [piece async for piece in request.stream()]
    request._body = b"{}"  # FastAPI looks whether there is one, and takes what is in _json
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise WrongType("the body must be JSON, sent with Content-Type: application/json")
    if sum(map(len, pieces)) <= SMALL:
        return _parsed(pieces, field)
    return await run_in_threadpool(_parsed, pieces, field)


def _parsed(pieces: list[bytes], field: Any) -> Any:
    try:
        content = read_json(b"".join(pieces))
    except ValueError as error:
        raise Invalid(
            "the body is not valid JSON: it must be UTF-8 text without NaN, infinity or deep nesting"
        ) from error
    value, errors = field.validate(content, {}, loc=("body",))
    if errors:
        raise RequestValidationError(errors)
    return value


def read_json(body: bytes) -> Any:
    """What a body holds; a long list of an object is read in portions, between which other threads have their turn.

    >>> read_json(b'{"keys": ["a", "b"]}')
    {'keys': ['a', 'b']}
    """
    if len(body) > PORTION:
        with suppress(ValueError):
            return _in_portions(body)
    return _whole(body)


def _whole(text: bytes) -> Any:
    return from_json(text, allow_inf_nan=False)


def _in_portions(body: bytes) -> Any:
    """From the first [ to the last ], cut where two elements seem to meet; raises a ValueError if that is elsewhere.

    Portions that are lists by themselves are one together, and in place of this list a text can be read nowhere else
    than there: what is read is what would be read as a whole.
    """
    first, last = body.index(b"[") + 1, body.rindex(b"]")
    content = _whole(body[:first] + b'"here"' + body[last:])
    (found,) = [value for value in content.values() if value == ["here"]] if isinstance(content, dict) else []
    found.clear()
    between = BETWEEN.get(body[first:last].lstrip()[:1])
    while first < last:
        met = between.search(body, first + PORTION, last) if between else None
        end = met.start(1) if met else last
        found += _whole(b"[" + body[first:end] + b"]")
        first = end + 1
    return content
