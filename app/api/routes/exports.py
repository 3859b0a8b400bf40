"""Files to take away, as streams: labels, the history of all answers, and what is predicted for every item."""

from typing import Annotated, Any, Literal

from fastapi import Query
from fastapi.responses import StreamingResponse

from app.api.context import Reader, router
from app.services.problems import Invalid
from app.services.reports import export

routes = router("exports")

MEDIA = {
    "jsonl": "application/x-ndjson",
    "csv": "text/csv; charset=utf-8",
    "ris": "application/x-research-info-systems",
}
Excel = Annotated[bool, Query(description="csv begins with a byte-order mark, by which Excel knows UTF-8")]


def _exported(*formats: str) -> dict[int | str, dict[str, Any]]:
    content: dict[str, Any] = {MEDIA[name].partition(";")[0]: {} for name in formats}
    return {200: {"content": content, "description": "One line for each item; in ris one reference"}}


@routes.get("/projects/{project}/labels", responses=_exported("jsonl", "csv", "ris"))
async def export_labels(
    at: Reader,
    format: Annotated[  # noqa: A002
        Literal["jsonl", "csv", "ris"],
        Query(
            description="csv: a column for each person and name in the data; "
            "ris: references with the label as a note, not with history"
        ),
    ] = "jsonl",
    history: Annotated[bool, Query(description="every event, instead of the labels as they are now")] = False,
    data: Annotated[bool, Query(description="with the data of the items; not with history")] = False,
    excel: Excel = False,
) -> StreamingResponse:
    """All labels, as a stream."""
    if history and format == "ris":
        raise Invalid("history has no RIS form: ask for jsonl or csv")
    if history and data:
        raise Invalid("history and data cannot be combined: ask for one of them")
    where = at.service.database, at.project.id, format
    if history:
        lines = await at.in_thread(export.export_history, *where, excel=excel)
    else:
        lines = await at.in_thread(export.export_labels, *where, data=data, excel=excel)
    return StreamingResponse(lines, media_type=MEDIA[format])


@routes.get("/projects/{project}/predictions", responses=_exported("jsonl", "csv"))
async def export_predictions(
    at: Reader,
    format: Annotated[  # noqa: A002
        Literal["jsonl", "csv"], Query(description="csv: a column for each name in the data and each class")
    ] = "jsonl",
    excel: Excel = False,
) -> StreamingResponse:
    """Every item with its class, as a stream: what people said, else what the model takes for the most probable."""
    lines = await at.in_thread(
        export.export_predictions, at.service.database, at.project.id, at.project.view, format, excel=excel
    )
    return StreamingResponse(lines, media_type=MEDIA[format])
