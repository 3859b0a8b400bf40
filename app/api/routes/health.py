"""Whether it lives, whether it is ready, and numbers for Prometheus."""

import hmac
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from app.api.context import PROBLEMS, bearer, service_of
from app.services.access import digest_of
from app.services.problems import DatabaseUnavailable, OwnershipLost, Unauthorised

routes = APIRouter(tags=["health"])


@routes.get("/health/live")
async def get_liveness() -> dict[str, str]:
    """Touches nothing."""
    return {"status": "alive"}


@routes.get("/health/ready", responses={503: {"description": "Not yet, or not any more"}})
async def get_readiness(request: Request) -> JSONResponse:
    """Whether requests are served: models are back, and the database answers."""
    service = service_of(request)
    keeping = service.housekeeping
    state: dict[str, Any] = {"status": "ready", "restored": keeping.restored, "projects": keeping.n_to_restore}
    try:
        await run_in_threadpool(service.check_database)
    except OwnershipLost:
        state["status"] = "another server may own the database"
    except DatabaseUnavailable:
        state["status"] = "the database does not answer"
    if service.stopping.is_set():
        state["status"] = "stopping"
    elif not service.is_ready:
        state["status"] = "restoring"
    lag = {r.project.id: r.project.ledger.sequence - r.project.view.sequence for r in service.all_running()}
    state["model_lag"] = sum(lag.values())
    return JSONResponse(state, 200 if state["status"] == "ready" else 503)


@routes.get("/metrics", response_class=Response, responses={401: PROBLEMS[401], 429: PROBLEMS[429]})
async def get_metrics(request: Request) -> Response:
    """For Prometheus; with the setting metrics_key only for who holds that key."""
    expected = request.app.state.settings.metrics_key
    if expected is not None:
        given = await bearer(request)
        if given is None or not hmac.compare_digest(digest_of(given.credentials), digest_of(expected)):
            if given is not None:
                service_of(request).access.note_guess(request.client.host if request.client else "?")
            raise Unauthorised("send the key of the setting metrics_key: Authorization: Bearer KEY")
    content = await run_in_threadpool(generate_latest, request.app.state.metrics.registry)
    return Response(content, media_type=CONTENT_TYPE_LATEST)
