"""Errors as application/problem+json, in one place; they never hold what was sent."""

import logging
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from app.api import schemas
from app.logs import request_id
from app.services.problems import ClusterLost, DatabaseUnavailable, Invalid, Problem, Unavailable, without_database

log = logging.getLogger(__name__)

MODELS = [m for m in vars(schemas).values() if isinstance(m, type) and issubclass(m, BaseModel)]
NAMES = frozenset(name for model in MODELS for name in model.model_fields)


def problem_response(problem: Problem, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """RFC 9457, with the id that the log has, too."""
    body = {
        "type": "about:blank",
        "title": problem.title,
        "status": problem.status,
        "detail": problem.detail,
        "id": request_id.get(),
    }
    all_headers = dict(headers or {})
    if problem.retry_after is not None:
        all_headers["Retry-After"] = str(problem.retry_after)
    if problem.status == 408:  # whatever is still to come is not waited for
        all_headers["Connection"] = "close"
    if problem.status == 401:
        all_headers["WWW-Authenticate"] = "Bearer"
    return JSONResponse(body, problem.status, all_headers, media_type="application/problem+json")


def install(app: FastAPI) -> None:
    """Shape every error of the application."""

    @app.exception_handler(Problem)
    async def known(_: Request, problem: Problem) -> JSONResponse:
        return problem_response(problem)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        return problem_response(Invalid(_described(error.errors())))

    @app.exception_handler(HTTPException)
    async def http(_: Request, error: HTTPException) -> JSONResponse:
        problem = Problem(str(error.detail))
        problem.status, problem.title = error.status_code, str(error.detail)
        return problem_response(problem, error.headers)

    @app.exception_handler(DatabaseUnavailable)
    async def no_database(_: Request, error: DatabaseUnavailable) -> JSONResponse:
        log.error("the database does not answer: %s", error)
        return problem_response(without_database(error))

    @app.exception_handler(ClusterLost)
    async def no_cluster(_: Request, error: ClusterLost) -> JSONResponse:
        log.error("the cluster does not answer: %s", error)
        return problem_response(Unavailable("the cluster does not answer; labels are still taken", retry_after=30))


def unexpected(error: Exception) -> Problem:
    """What the caller is told of a mistake of ours; the log has the rest."""
    log.error("an unexpected error", exc_info=error)
    problem = Problem("an unexpected error; the log of the service tells more under this id")
    problem.status, problem.title = 500, "Internal error"
    return problem


def _described(errors: Any) -> str:
    """Where, and what was expected; never what came, and no name that is not ours."""
    parts = []
    for error in errors[:5]:
        source, *path = error["loc"]
        ours = [str(part) for part in path if source != "body" or isinstance(part, int) or part in NAMES]
        parts.append(f"{'.'.join([str(source), *ours])}: {error['msg']}")
    more = f"; and {len(errors) - 5} more" if len(errors) > 5 else ""
    return "; ".join(dict.fromkeys(parts)) + more
