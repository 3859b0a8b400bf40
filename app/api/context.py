"""What routes need: who asks, which project, and the service; roles are checked here and nowhere else."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, Path, Request, Response, Security
from fastapi.concurrency import run_in_threadpool
from fastapi.security import HTTPBearer
from pydantic import BaseModel

from app.api.schemas import ProblemAnswer
from app.api.strict_json import StrictRoute
from app.label_studio.links import LabelStudio
from app.services.access import Principal, Role
from app.services.problems import Forbidden, NotFound, Unauthorised
from app.services.project.state import Project
from app.services.registry.running import Running
from app.services.registry.service import Service
from app.services.runtime.writer import Priority, Task

bearer = HTTPBearer(auto_error=False, description="A key made by `asknext keys create` or POST /v1/keys")
T = TypeVar("T")

PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": ProblemAnswer, "content": {"application/problem+json": {}}, "description": description}
    for status, description in {
        400: "Bad request",
        401: "No valid key",
        403: "The key may not do that",
        404: "Not there, or not for this key",
        408: "The body came too slowly",
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

    async def as_json(
        self, model: type[BaseModel], function: Callable[..., Any], *args: Any, status_code: int = 200
    ) -> Response:
        """What a function finds, as a model; for answers that may be large, which the event loop has no time for."""

        def write() -> bytes:
            return model.model_validate(function(*args)).model_dump_json().encode()

        return Response(await run_in_threadpool(write), status_code, media_type="application/json")


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
        self.service.train_if_due(self.running)
        return answer


@dataclass(frozen=True)
class Guard:
    """Who may call a route. It is asked before the body is read; as a dependency it hands over who that is."""

    role: Role = "reader"
    service_wide: bool = False  # keys that belong to one project are not enough

    async def admit(self, request: Request) -> Caller:
        """Whoever asks, or a Problem."""
        raise NotImplementedError

    def _check(self, principal: Principal) -> None:
        if not principal.may(self.role):
            raise Forbidden(f"this needs a key with the role {self.role}")
        if self.service_wide and principal.project_id is not None:
            raise Forbidden("this key belongs to one project: ask an administrator of the service")


@dataclass(frozen=True)
class ServiceGuard(Guard):
    """Who may call a route that is no project's."""

    async def admit(self, request: Request) -> Caller:
        """Whoever asks, or a Problem."""
        caller = await _caller(request)
        self._check(caller.principal)
        return caller

    async def __call__(self, request: Request, _: Annotated[Any, Security(bearer)]) -> Caller:
        """Whoever was admitted; `bearer` is there for the OpenAPI document."""
        caller: Caller = request.state.caller
        return caller


@dataclass(frozen=True)
class ProjectGuard(Guard):
    """Who may call a route of the project in the path; foreign projects are not there."""

    async def admit(self, request: Request) -> AtProject:
        """Whoever asks, at the project, or a Problem."""
        caller, project_id = await _caller(request), request.path_params["project"]
        if not caller.principal.sees(project_id):
            raise NotFound("there is no such project")
        running = caller.service.in_memory(project_id)
        if running is None:
            running = await run_in_threadpool(caller.service.running, project_id)
        self._check(caller.principal)
        return AtProject(caller.service, caller.principal, running)

    async def __call__(
        self,
        request: Request,
        _: Annotated[Any, Security(bearer)],
        __: Annotated[str, Path(alias="project", max_length=64, description="the project's id")],
    ) -> AtProject:
        """Whoever was admitted."""
        caller: AtProject = request.state.caller
        return caller


class GuardedRoute(StrictRoute):
    """Looks at key, role and project before it looks at the body; a route without one guard cannot be made."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Who are you? Then go on as usual."""
        handle = super().get_route_handler()
        guard = _guard_of(self.dependant.dependencies)

        async def guarded(request: Request) -> Response:
            request.state.caller = await guard.admit(request)
            return await handle(request)

        return guarded


def _guard_of(dependencies: Sequence[Any]) -> Guard:
    """The one guard among the dependencies of a route."""
    (guard,) = (part.call for part in dependencies if isinstance(part.call, Guard))
    return guard


async def _caller(request: Request) -> Caller:
    service, credentials = service_of(request), await bearer(request)
    if credentials is None:
        raise Unauthorised("a key is needed: send the header Authorization: Bearer KEY")
    address = request.client.host if request.client else "?"
    principal = service.access.remembered(credentials.credentials)
    if principal is None:
        principal = await run_in_threadpool(service.access.authenticate, credentials.credentials, address)
    return Caller(service, principal)


Reader = Annotated[AtProject, Depends(ProjectGuard("reader"))]
Annotator = Annotated[AtProject, Depends(ProjectGuard("annotator"))]
Admin = Annotated[AtProject, Depends(ProjectGuard("admin"))]
AnyCaller = Annotated[Caller, Depends(ServiceGuard())]
AnyAdmin = Annotated[Caller, Depends(ServiceGuard("admin"))]
ServiceAdmin = Annotated[Caller, Depends(ServiceGuard("admin", service_wide=True))]
