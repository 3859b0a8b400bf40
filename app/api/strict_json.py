"""Strict JSON bodies: the right content type, no NaN, no infinity, no lone surrogates, no deep nesting."""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from pydantic_core import from_json

from app.services.problems import Invalid, WrongType


class StrictRoute(APIRoute):
    """Reads the body itself, where the route takes one."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Parse first, then go on as usual."""
        handle = super().get_route_handler()
        takes_body = self.body_field is not None

        async def strict(request: Request) -> Response:
            if takes_body:
                request._json = await _parsed(request)
            return await handle(request)

        return strict


async def _parsed(request: Request) -> Any:
    body = await request.body()
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise WrongType("the body must be JSON, sent with Content-Type: application/json")
    try:
        return from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise Invalid(
            "the body is not valid JSON: it must be UTF-8 text without NaN, infinity or deep nesting"
        ) from error
