"""What can be seen of the learning; none of it keeps an annotator waiting."""

from typing import Annotated, Any

from fastapi import Query, Response
from pydantic_core import to_json

from app.api import schemas
from app.api.context import Reader, router
from app.api.routes.projects import Cursor, Limit, number_of
from app.services.items import encoder
from app.services.model.explanations import ExplainItem, explain
from app.services.model.map import points
from app.services.project.ledger import Kind
from app.services.reports import insights, report
from app.services.reports.accuracy import TakeEvidence
from app.services.reports.card import card
from app.services.reports.rankings import Ranking, rank_items
from app.services.reports.search import TakeSearch, describe_search
from app.services.runtime.writer import LATER

routes = router("insights")

Filter = Annotated[str | None, Query(max_length=500)]


@routes.get("/projects/{project}/insights", response_model=schemas.Insights)
async def get_insights(at: Reader) -> Any:
    """How good the model is, whether to keep labelling, learning curve, class counts, uncertainty of the pool."""
    evidence = await at.do(TakeEvidence(at.project), LATER)
    is_lead = at.principal.may("admin")
    return await at.as_json(schemas.Insights, insights.insights, at.service.database, at.project.id, evidence, is_lead)


@routes.get("/projects/{project}/search", response_model=schemas.SearchProgress)
async def get_search(at: Reader) -> Any:
    """What was found of the wanted class, what is left, and whether it is safe to stop; only with goal find."""
    progress = await at.do(TakeSearch(at.project), LATER)
    return await at.as_json(schemas.SearchProgress, describe_search, progress)


@routes.get("/projects/{project}/map", responses={200: {"model": schemas.PoolMapAnswer}})
async def get_map(
    at: Reader, limit: Annotated[int, Query(ge=1, le=20_000, description="items, at most")] = 2000
) -> Response:
    """Items in the plane, near each other if the kernel takes them for alike; up to half of them labelled ones."""

    def draw() -> bytes:
        places = at.running.pool_map.places(at.project, at.running.writer)
        return to_json(points(at.project.view, at.project.keys, places, limit))

    return Response(await at.in_thread(draw), media_type="application/json")


@routes.get("/projects/{project}/ranked", response_model=schemas.RankedItems)
async def list_ranked(
    at: Reader,
    by: Annotated[
        Ranking,
        Query(description="unlabelled and uncertain, labelled and surprising, disagreed on, or unlike all labelled"),
    ] = "uncertain",
    limit: Limit = 50,
) -> Any:
    """Items worth a look, the most remarkable first."""
    view, database = at.project.view, at.service.database
    return await at.as_json(
        schemas.RankedItems, lambda: {"items": rank_items(database, at.project.id, view, by, limit)}
    )


@routes.get("/projects/{project}/events", response_model=schemas.EventPage)
async def list_events(
    at: Reader,
    annotator: Filter = None,
    kind: Annotated[Kind | None, Query()] = None,
    label: Filter = None,
    key: Filter = None,
    cursor: Cursor = "",
    limit: Limit = 100,
) -> Any:
    """Everything that was said, the newest first; by annotator (name), kind, label and item if wanted."""
    before, which = number_of(cursor), report.EventFilter(annotator, kind, label, key)
    return await at.as_json(
        schemas.EventPage, report.list_events, at.service.database, at.project.id, which, before, limit
    )


@routes.get("/projects/{project}/card", response_model=schemas.ModelCard)
async def get_card(at: Reader) -> Any:
    """The model card: how the model was made, by whom, how good it is, and what to be careful about."""
    evidence = await at.do(TakeEvidence(at.project), LATER)
    is_lead = at.principal.may("admin")
    return await at.as_json(schemas.ModelCard, card, at.service.database, at.project.id, evidence, is_lead)


@routes.get("/projects/{project}/why/{key:path}", response_model=schemas.Why)
async def explain_item(at: Reader, key: str) -> Any:
    """What speaks for and against the predicted class of an item, by column."""
    classes, best, mean, found = await at.do(ExplainItem(at.project, key), LATER)
    names = await at.in_thread(encoder.column_names, at.service.database, at.project.id)
    return explain(classes, best, mean, found, names)
