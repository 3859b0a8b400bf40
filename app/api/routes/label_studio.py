"""The ML backend that Label Studio talks to: a path with a secret for each project, and its time limits."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Request, Response, status
from fastapi.concurrency import run_in_threadpool

from app.api import schemas
from app.api.bodies import body_limit
from app.api.context import PROBLEMS, links_of, service_of
from app.api.strict_json import StrictRoute
from app.label_studio.link import Link
from app.label_studio.protocol import project_number
from app.label_studio.webhook import Message, receive
from app.settings import ServiceSettings

ANSWER_WITHIN = 0.7  # seconds for a webhook: Label Studio gives up after one
PREDICT_WITHIN = 60.0  # seconds that tasks have to become items: Label Studio gives up after 100


class SecretRoute(StrictRoute):
    """Looks at the secret before it looks at the body."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Whose address is it? Then go on as usual."""
        handle = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            names, caller = request.path_params, request.client.host if request.client else "?"
            request.state.link = links_of(request).find(names["project"], names["secret"], caller)
            return await handle(request)

        return guarded


routes = APIRouter(
    prefix="/label-studio/{project}/{secret}", tags=["label studio"], route_class=SecretRoute, responses=PROBLEMS
)


async def linked(
    request: Request,
    _: Annotated[str, Path(alias="project", max_length=64, description="the project's id")],
    __: Annotated[str, Path(alias="secret", max_length=200, description="of the address, as it was shown once")],
) -> Link:
    """The link behind the address."""
    link: Link = request.state.link
    return link


At = Annotated[Link, Depends(linked)]


def tasks_limit(settings: ServiceSettings) -> int:
    """Bytes of a body: Label Studio sends all tasks of a project in one."""
    return 8 * settings.max_body


@routes.get("/health", response_model=schemas.BackendHealth)
async def check_backend(_: At) -> Any:
    """Whether the backend is there; touches nothing."""
    return {}


@routes.post("/setup", response_model=schemas.SetUpAnswer)
@body_limit(tasks_limit)
async def set_up_backend(link: At, body: schemas.SetUp) -> Any:
    """Check the label config: one choice between classes, of texts, pictures, or items with features."""
    return {"model_version": await run_in_threadpool(link.set_up, body.label_config, project_number(body.project))}


@routes.post("/predict", response_model=schemas.TaskPredictions)
@body_limit(tasks_limit)
async def predict_tasks(link: At, body: schemas.PredictTasks) -> Any:
    """A class for each task and how likely it is; tasks that are not known become items first."""
    if link.config is None and body.label_config is not None:
        await run_in_threadpool(link.set_up, body.label_config, project_number(body.project))
    if not await run_in_threadpool(link.are_known, body.tasks):
        await run_in_threadpool(link.receive_tasks, body.tasks)
        await asyncio.wait([asyncio.wrap_future(link.work())], timeout=PREDICT_WITHIN)

    def write() -> bytes:
        return schemas.TaskPredictions.model_validate({"results": link.predict(body.tasks)}).model_dump_json().encode()

    return Response(await run_in_threadpool(write), media_type="application/json")


@routes.post("/webhook", status_code=status.HTTP_201_CREATED, response_model=schemas.WebhookAnswer)
@body_limit(tasks_limit)
async def receive_event(request: Request, link: At, body: schemas.Webhook) -> Any:
    """Something happened in Label Studio: it is kept, and learnt in the background.

    The answer waits for the model and for the tasks that it puts in order, but never longer than Label Studio would.
    """
    end = asyncio.get_running_loop().time() + ANSWER_WITHIN
    message = Message(
        body.action,
        _as_list(body.annotation),
        [*_as_list(body.task), *body.tasks],
        [one.id for one in body.annotations],
        body.project.id if body.project is not None else None,
        body.project.label_config if body.project is not None else None,
    )
    kept = asyncio.ensure_future(run_in_threadpool(receive, link, links_of(request), service_of(request), message))
    if not await _done(kept, end):
        return {"status": "it is being kept"}
    outcome = kept.result()
    if outcome["status"] == "kept":
        await _done(asyncio.wrap_future(link.work()), end)
    return outcome


@routes.get("/versions", response_model=schemas.Versions)
async def list_versions(link: At) -> Any:
    """Versions of the model."""
    return {"versions": link.versions()}


async def _done(work: "asyncio.Future[Any]", end: float) -> bool:
    """Whether it is done by then; if not it goes on."""
    left = max(0.0, end - asyncio.get_running_loop().time())
    done, _ = await asyncio.wait([work], timeout=left)
    return bool(done)


def _as_list(given: Any) -> list[Any]:
    return given if isinstance(given, list) else [] if given is None else [given]
