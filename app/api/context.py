"""What routes need: who asks, which project, and the service; roles are checked here and nowhere else."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, Path, Request, Response, Security
from fastapi.concurrency import run_in_threadpool
from fastapi.security import HTTPBearer

from app.api.schemas import ProblemAnswer
from app.api.strict_json import StrictRoute
from app.label_studio.links import LabelStudio
from app.services.access import Principal, Role
from app.services.problems import Forbidden, NotFound, Unauthorised
from app.services.project import Project
from app.services.service import Running, Service
from app.services.turns import Priority, Task

bearer = HTTPBearer(auto_error=False, description="A key made by `asknext keys create` or POST /v1/keys")
T = TypeVar("T")

PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": ProblemAnswer, "content": {"application/problem+json": {}}, "description": description}
    for status, description in {
        400: "Bad request",
        401: "No valid key",
        403: "The key may not do that",
        404: "Not there, or not for this key",
        409: "In conflict with what is there",
        412: "Changed in the meantime",
        413: "Too large",
        415: "Not JSON",
        422: "Invalid input",
        429: "Too many",
        503: "Not now",
    }.items()
}


def router(tag: str) -> APIRouter:
    """Routes under /v1 with a guard, strict bodies and the same errors."""
    return APIRouter(prefix="/v1", tags=[tag], route_class=GuardedRoute, responses=PROBLEMS)


def service_of(request: Request) -> Service:
    """The service behind the application."""
    service: Service = request.app.state.service
    return service


def links_of(request: Request) -> LabelStudio:
    """The links of the application to Label Studio."""
    links: LabelStudio = request.app.state.label_studio
    return links


@dataclass(frozen=True)
class Caller:
    """Who asks, and the service."""

    service: Service
    principal: Principal

    async def in_thread(self, function: Callable[..., T], *args: Any, **options: Any) -> T:
        """Something that waits for the database."""
        return await run_in_threadpool(function, *args, **options)


@dataclass(frozen=True)
class AtProject(Caller):
    """Who asks, and the project."""

    running: Running

    @property
    def project(self) -> Project:
        """What the project holds in memory."""
        return self.running.project

    async def do(self, task: Task, priority: Priority = "now") -> Any:
        """Let the project's writer do something; no thread waits for it."""
        answer = await asyncio.wrap_future(self.running.writer.submit(task, priority))
        self.service.look_after(self.running)
        return answer


class GuardedRoute(StrictRoute):
    """Looks at the key before it looks at the body."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Who are you? Then go on as usual."""
        handle = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            request.state.caller = await _caller(request)
            return await handle(request)

        return guarded


async def _caller(request: Request) -> Caller:
    service, credentials = service_of(request), await bearer(request)
    if credentials is None:
        raise Unauthorised("send a key: Authorization: Bearer KEY")
    address = request.client.host if request.client else "?"
    principal = service.access.remembered(credentials.credentials)
    if principal is None:
        principal = await run_in_threadpool(service.access.authenticate, credentials.credentials, address)
    return Caller(service, principal)


async def authenticated(request: Request, _: Annotated[Any, Security(bearer)]) -> Caller:
    """Whoever holds the key; `bearer` is there for the OpenAPI document."""
    caller: Caller = request.state.caller
    return caller


def requires(role: Role) -> Callable[..., Any]:
    """Callers whose key is good for this role."""

    async def check(caller: Annotated[Caller, Depends(authenticated)]) -> Caller:
        if not caller.principal.may(role):
            raise Forbidden(f"this needs a key with the role {role}")
        return caller

    return check


def at_project(role: Role) -> Callable[..., Any]:
    """Callers whose key is good for this role in the project of the path; foreign projects are not there."""

    async def check(
        caller: Annotated[Caller, Depends(authenticated)],
        project_id: Annotated[str, Path(alias="project", max_length=64, description="the project's id")],
    ) -> AtProject:
        if not caller.principal.sees(project_id):
            raise NotFound("there is no such project")
        running = caller.service.in_memory(project_id)
        if running is None:
            running = await run_in_threadpool(caller.service.running, project_id)
        if not caller.principal.may(role):
            raise Forbidden(f"this needs a key with the role {role}")
        return AtProject(caller.service, caller.principal, running)

    return check


Reader = Annotated[AtProject, Depends(at_project("reader"))]
Annotator = Annotated[AtProject, Depends(at_project("annotator"))]
Admin = Annotated[AtProject, Depends(at_project("admin"))]
AnyCaller = Annotated[Caller, Depends(authenticated)]
AnyAdmin = Annotated[Caller, Depends(requires("admin"))]
