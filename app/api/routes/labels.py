"""Questions and answers."""

import hashlib
from typing import Annotated, Any

from fastapi import Header, status
from pydantic_core import to_json

from app.api import schemas
from app.api.context import Annotator, AtProject, Reader, router
from app.services.labelling.answers import Answer, AnswerTask, RetractTask, UndoTask
from app.services.labelling.idempotency import Idempotency, Once
from app.services.labelling.questions import Ask, AskTask, ExtendLease, ReleaseLease, matching_items
from app.services.plain import check_plain
from app.services.problems import Invalid
from app.services.reports import report

routes = router("labels")

IdempotencyKey = Annotated[
    str | None, Header(min_length=1, max_length=200, description="a repeat with the same key changes nothing")
]


@routes.post("/projects/{project}/query", response_model=schemas.Questions)
async def query_items(at: Annotator, body: schemas.Ask) -> Any:
    """Which items to label next; each is yours until its lease runs out."""
    answer = await at.do(AskTask(at.project, at.principal.key_id, await _ask(at, body)))
    return await with_data(at, schemas.Questions, answer)


@routes.post("/projects/{project}/labels", status_code=status.HTTP_201_CREATED, response_model=schemas.LabelsAnswer)
async def label_items(
    at: Annotator,
    body: schemas.NewLabels,
    idempotency_key: IdempotencyKey = None,
) -> Any:
    """Answer, and get the next items from the model that has learnt the answer."""
    answers = [Answer(e.key, e.label, e.action, e.note, e.lease) for e in body.labels]
    key = idempotency_key or body.idempotency_key
    content = body.model_dump(exclude={"idempotency_key"})
    task = AnswerTask(
        project=at.project,
        annotator=at.principal.key_id,
        answers=answers,
        ask=await _ask(at, body.next) if body.next else None,
    )
    answer = await at.do(Once(task, _idempotency(key, at, content)) if key else task)
    return await with_data(at, schemas.LabelsAnswer, answer, status.HTTP_201_CREATED)


@routes.delete("/projects/{project}/labels/{key:path}", response_model=schemas.Retracted)
async def retract_label(at: Annotator, key: str) -> Any:
    """Withdraw your label of an item; an administrator without one withdraws everybody's."""
    return await at.do(RetractTask(at.project, at.principal.key_id, key, everybody=at.principal.may("admin")))


@routes.post("/projects/{project}/undo", response_model=schemas.Questions)
async def undo_answer(at: Annotator, idempotency_key: IdempotencyKey = None) -> Any:
    """Take your last answer back and get the item again; call it again to go further back."""
    task = UndoTask(project=at.project, annotator=at.principal.key_id)
    answer = await at.do(Once(task, _idempotency(idempotency_key, at, "undo")) if idempotency_key else task)
    return await with_data(at, schemas.Questions, answer)


@routes.post("/projects/{project}/leases/{lease}", response_model=schemas.LeaseAnswer)
async def extend_lease(at: Annotator, lease: str) -> Any:
    """A heartbeat: keep an item for longer."""
    return await at.do(ExtendLease(at.project, at.principal.key_id, lease))


@routes.delete("/projects/{project}/leases/{lease}", status_code=status.HTTP_204_NO_CONTENT)
async def release_lease(at: Annotator, lease: str) -> None:
    """Give an item back without an answer."""
    await at.do(ReleaseLease(at.project, at.principal.key_id, lease))


@routes.get("/projects/{project}/agreement", response_model=schemas.Agreement)
async def get_agreement(at: Reader) -> Any:
    """How much people agree."""
    return await at.in_thread(report.get_agreement, at.service.database, at.project.id)


async def with_data(
    at: AtProject, model: type[schemas.Questions], answer: dict[str, Any], status_code: int = status.HTTP_200_OK
) -> Any:
    """Add what people look at, which the writer has no time for."""
    if not answer["items"]:
        return answer
    return await at.as_json(
        model, report.attach_data, at.service.database, at.project.id, answer, status_code=status_code
    )


async def _ask(at: AtProject, body: schemas.Ask) -> Ask:
    among = await at.in_thread(matching_items, at.project, body.filter) if body.filter else None
    return Ask(
        body.count, body.strategy, body.explore, body.seed, body.resume, among, body.variance, body.skipped_until
    )


def _idempotency(key: str, at: AtProject, content: Any) -> Idempotency:
    """What a repeat must repeat: who, and what."""
    try:
        check_plain(key)
    except ValueError as error:
        raise Invalid("the idempotency key must not contain NUL characters") from error
    # Everybody's keys are their own.
    return Idempotency(f"{at.principal.key_id}/{key}", hashlib.sha256(to_json([at.principal.key_id, content])).digest())
