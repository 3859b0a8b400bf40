"""The application."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio.to_thread
from fastapi import FastAPI
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles

from app.api import problems
from app.api.examples import add_examples
from app.api.middleware import Around
from app.api.routes import (
    exports,
    health,
    insights,
    items,
    keys,
    label_studio,
    label_studio_links,
    labels,
    media,
    model,
    projects,
)
from app.label_studio.links import LabelStudio
from app.metrics import Metrics
from app.services.registry.service import Service
from app.settings import ServiceSettings

WEB = Path(__file__).parent / "web"
THREADS = 32  # that wait for the database


def create_app(settings: ServiceSettings, service: Service | None = None) -> FastAPI:
    """The service behind HTTP; it starts and stops with the application."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = THREADS
        app.state.service = service or await run_in_threadpool(Service, settings)
        app.state.service.start()
        app.state.label_studio = LabelStudio(app.state.service)
        await run_in_threadpool(app.state.label_studio.start)
        yield
        await run_in_threadpool(app.state.label_studio.stop)
        await run_in_threadpool(app.state.service.stop)

    app = FastAPI(
        title="AskNext",
        summary="Chooses which item to label next, and learns from each label at once",
        version="1",
        lifespan=lifespan,
        generate_unique_id_function=lambda route: route.name,  # clients that are generated have our names
        docs_url=None,  # ours has its scripts with it
        redoc_url=None,
    )
    app.state.settings = settings
    app.state.metrics = Metrics(lambda: app.state.service)
    problems.install(app)
    add_examples(app)
    for part in (
        projects,
        items,
        media,
        labels,
        exports,
        model,
        insights,
        label_studio_links,
        keys,
        health,
        label_studio,
    ):
        app.include_router(part.routes)
    app.add_api_route("/docs", _docs, include_in_schema=False)
    app.mount("/", StaticFiles(directory=WEB, html=True), name="web")
    app.add_middleware(
        Around,
        metrics=app.state.metrics,
        max_requests=settings.max_requests,
        body_seconds=settings.body_seconds,
    )
    return app


async def _docs() -> FileResponse:
    """The interface to read and to try."""
    return FileResponse(WEB / "docs.html")
