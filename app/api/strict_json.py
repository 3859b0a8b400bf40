"""Strict JSON bodies: the right content type, no NaN, no infinity, no lone surrogates, no deep nesting."""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic_core import from_json

from app.api.bodies import allow_body, declared_limit, json_limit
from app.services.problems import Invalid, WrongType

SMALL = 16 * 1024  # bytes that are read faster than another thread takes over


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
        content = from_json(b"".join(pieces), allow_inf_nan=False)
    except ValueError as error:
        raise Invalid(
            "the body is not valid JSON: it must be UTF-8 text without NaN, infinity or deep nesting"
        ) from error
    value, errors = field.validate(content, {}, loc=("body",))
    if errors:
        raise RequestValidationError(errors)
    return value
