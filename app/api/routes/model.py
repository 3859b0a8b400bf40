"""The model: trained, described, asked for predictions."""

from typing import Any

from fastapi import Response, status
from pydantic_core import to_json

from app.api import schemas
from app.api.context import Admin, Reader, router
from app.services.model.predictions import PredictRows, predict_items, rows_as_table
from app.services.project.state import Project
from app.services.reports.model import DescribeModel, advice
from app.services.runtime.writer import LATER

routes = router("model")

AT_A_TIME = 100  # predictions that are written in one go


@routes.post("/projects/{project}/train", status_code=status.HTTP_202_ACCEPTED, response_model=schemas.JobStarted)
async def train_model(at: Admin, body: schemas.Train) -> Any:
    """Train in the background; people go on with the model there is."""
    return {"job": await at.in_thread(at.service.start_training, at.running, tune=body.tune)}


@routes.get("/projects/{project}/model", response_model=schemas.ModelAnswer)
async def get_model(at: Reader) -> Any:
    """Version, hyperparameters, and estimates of how good it is, with a recommendation each."""
    model = await at.do(DescribeModel(at.project, at.running.training), LATER)
    return model | {"advice": await at.in_thread(advice, at.project.view)}


@routes.post("/projects/{project}/predict", responses={200: {"model": schemas.Predictions}})
async def predict_rows(at: Reader, body: schemas.PredictRows) -> Response:
    """Predict items by their keys, or any rows of features, texts or tables."""
    if body.keys is not None:
        content = await at.in_thread(_of_items, at.project, body.keys)
    else:
        answer = await at.do(PredictRows(at.project, await at.in_thread(_table, at.project, body)), LATER)
        content = await at.in_thread(_written, answer)
    return Response(content, media_type="application/json")


@routes.post("/projects/{project}/predict-one", response_model=schemas.OnePrediction)
async def predict_row(at: Reader, body: schemas.PredictOne) -> Any:
    """The class of one text or row, in the flattest form: for tools that take what a template says."""
    given = [body.text] if body.text is not None else [_given(body.features or [])]
    answer = await at.do(PredictRows(at.project, await at.in_thread(rows_as_table, at.project, given)), LATER)
    (found,) = answer["predictions"]
    return {"label": found["label"], "score": found["probabilities"][found["label"]]}


def _of_items(project: Project, keys: list[str]) -> bytes:
    return _written(predict_items(project.view, [project.item_numbers.get(key) for key in keys]))


def _table(project: Project, body: schemas.PredictRows) -> Any:
    return rows_as_table(project, body.texts or body.rows or [_given(row) for row in body.features or []])


def _given(row: schemas.Features) -> Any:
    return row if isinstance(row, list) else (row.indices, row.values)


def _written(answer: dict[str, Any]) -> bytes:
    """Thousands of numbers, checked when they were made: no need to validate them again.

    A piece at a time, since other threads have to wait while one is written.
    """
    rest, rows = answer | {"predictions": []}, answer["predictions"]
    pieces = [to_json(rows[first : first + AT_A_TIME])[1:-1] for first in range(0, len(rows), AT_A_TIME)]
    return to_json(rest).removesuffix(b"[]}") + b"[" + b",".join(pieces) + b"]}"
