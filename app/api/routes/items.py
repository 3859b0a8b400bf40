"""Items, imports and jobs."""

import asyncio
import os
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal

from fastapi import Query, Request, status

from app.api.bodies import body_limit
from app.api.context import Admin, Reader, router
from app.api.routes.projects import Cursor, Limit, number_of
from app.api.schemas import (
    Features,
    Item,
    ItemFeatures,
    ItemHistory,
    ItemPage,
    ItemsAnswer,
    JobAnswer,
    JobPage,
    JobStarted,
    NewItems,
    SparseFeatures,
)
from app.services.imports.run import Import, run_import
from app.services.items.add import AddItems, NewItem, dense_row, sparse_row
from app.services.items.encoder import encode_few, is_raw
from app.services.problems import Invalid, Unavailable
from app.services.project.state import Project
from app.services.reports import report
from app.services.runtime.ids import new_id

routes = router("items")

Format = Literal["auto", "zip", "npz", "jsonl", "csv", "svmlight", "ris"]
FILE = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}


@routes.post("/projects/{project}/items", status_code=status.HTTP_201_CREATED, response_model=ItemsAnswer)
async def add_items(at: Admin, body: NewItems) -> Any:
    """Add items; the same key and features again change nothing, other features are a conflict.

    Where the project has an encoder, `text` or `row` may stand for the features.
    """
    new, width = await at.in_thread(_new_items, at.project, body.items)
    return await at.do(AddItems(at.project, new, width))


@routes.get("/projects/{project}/items", response_model=ItemPage)
async def list_items(at: Reader, cursor: Cursor = "", limit: Limit = 100) -> Any:
    """Items in the order they came, with their votes."""
    return await at.as_json(ItemPage, report.list_items, at.service.database, at.project.id, number_of(cursor), limit)


@routes.get("/projects/{project}/items/{key:path}", response_model=ItemHistory)
async def get_item(at: Reader, key: str) -> Any:
    """An item and everything that was said of it."""
    return await at.as_json(ItemHistory, report.get_item, at.service.database, at.project.id, key, at.principal.key_id)


@routes.get("/projects/{project}/features/{key:path}", response_model=ItemFeatures)
async def get_features(at: Reader, key: str) -> Any:
    """The features of an item, to be drawn."""
    return await at.as_json(
        ItemFeatures, report.get_features, at.service.database, at.project.id, key, at.project.width
    )


@routes.post(
    "/projects/{project}/import",
    status_code=status.HTTP_202_ACCEPTED,
    response_model=JobStarted,
    openapi_extra={"requestBody": {"required": True, "content": FILE}},
)
@body_limit(lambda settings: settings.max_upload)
async def import_items(
    at: Admin,
    request: Request,
    format: Annotated[Format, Query(description="of the file in the body")] = "auto",  # noqa: A002
    index_base: Annotated[int, Query(ge=0, le=1, description="the first index in svmlight files")] = 1,
    labels: Annotated[bool, Query(description="use the labels in the file, recorded under your name")] = False,
) -> Any:
    """Upload a file as the body; it is read in the background.

    Where the project has an encoder, it may be a zip of pictures or .txt files, csv or jsonl of texts or tables, or RIS
    of references; what was found, and what could not be read, is in the result of the job.
    """
    job_id = new_id()
    path = at.service.uploads / f"{job_id}.upload"
    path.parent.mkdir(parents=True, exist_ok=True)
    form = None if format == "auto" else format
    upload = Import(path, form, at.service.media, index_base, at.principal.key_id if labels else None)
    running = at.running
    try:
        await _store(request, path)
        await at.in_thread(
            at.service.jobs.start,
            at.project.id,
            "import",
            lambda progress: run_import(running, upload, progress),
            job_id,
        )
    except BaseException:
        path.unlink(missing_ok=True)  # no job will
        raise
    return {"job": job_id}


@routes.get("/projects/{project}/jobs", response_model=JobPage)
async def list_jobs(at: Reader, cursor: Cursor = "", limit: Limit = 100) -> Any:
    """Imports and trainings, in the order they came."""

    def read() -> Any:
        found = at.service.jobs.page(at.project.id, cursor, limit)
        return {"jobs": found, "next": found[-1]["id"] if len(found) == limit else None}

    return await at.as_json(JobPage, read)


@routes.get("/projects/{project}/jobs/{job}", response_model=JobAnswer)
async def get_job(at: Reader, job: str) -> Any:
    """How far a job is."""
    return await at.in_thread(at.service.jobs.get, at.project.id, job)


@routes.delete("/projects/{project}/jobs/{job}", response_model=JobAnswer)
async def cancel_job(at: Admin, job: str) -> Any:
    """Ask a job to end; what it has done so far stays."""
    await at.in_thread(at.service.jobs.cancel, at.project.id, job)
    return await at.in_thread(at.service.jobs.get, at.project.id, job)


async def _store(request: Request, path: Path) -> None:
    """The body as a file that is on the disk."""
    try:
        with path.open("wb") as file:
            async for chunk in request.stream():
                await asyncio.to_thread(file.write, chunk)
            await asyncio.to_thread(_sync, file)
    except OSError as error:
        raise Unavailable("the file could not be stored: is the disk of the service full?", retry_after=60) from error


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _new_items(project: Project, items: list[Item]) -> tuple[list[NewItem], int | None]:
    """Items as they are stored, and their columns where they tell; raw ones are encoded."""
    width = width_of([item.features for item in items if item.features is not None])
    if not any(is_raw(project, item.given) for item in items):
        return [NewItem(item.key, encode_features(item.features or []), item.shown) for item in items], width
    blobs = encode_few(project, [item.given for item in items])
    return [NewItem(item.key, blob, item.shown) for item, blob in zip(items, blobs, strict=True)], project.width


def encode_features(features: Features) -> bytes:
    """Features as they are stored."""
    if isinstance(features, SparseFeatures):
        return sparse_row(features.indices, features.values)
    return dense_row(features)


def width_of(rows: list[Features]) -> int | None:
    """Columns of dense rows, which must be as many in each."""
    widths = {len(row) for row in rows if not isinstance(row, SparseFeatures)}
    if len(widths) > 1:
        raise Invalid(f"all rows must have the same number of columns; these have from {min(widths)} to {max(widths)}")
    return widths.pop() if widths else None
