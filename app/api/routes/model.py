"""The model: trained, described, asked for predictions."""

from typing import Any

from fastapi import Response, status
from pydantic_core import to_json

from app.api import schemas
from app.api.context import Admin, Reader, router
from app.services.predictions import PredictRows, predict_items, readable
from app.services.reports import DescribeModel, advice
from app.services.turns import LATER

routes = router("model")


@routes.post("/projects/{project}/train", status_code=status.HTTP_202_ACCEPTED, response_model=schemas.JobStarted)
async def train(at: Admin, body: schemas.Train) -> Any:
    """Train in the background; people go on with the model there is."""
    return {"job": await at.in_thread(at.service.train, at.running, tune=body.tune)}


@routes.get("/projects/{project}/model", response_model=schemas.ModelAnswer)
async def describe_model(at: Reader) -> Any:
    """Version, hyperparameters, and estimates of how good it is, with a recommendation each."""
    model = await at.do(DescribeModel(at.project, at.running.training), LATER)
    return model | {"advice": await at.in_thread(advice, at.project.view)}


@routes.post("/projects/{project}/predict", responses={200: {"model": schemas.Predictions}})
async def predict(at: Reader, body: schemas.PredictRows) -> Response:
    """Predict items by their keys, or any rows of features, texts or tables."""
    if body.keys is not None:
        answer = predict_items(at.project.view, [at.project.numbers.get(key) for key in body.keys])
    else:
        given = body.texts or body.rows or _given(body.features or [])
        answer = await at.do(PredictRows(at.project, await at.in_thread(readable, at.project, given)), LATER)
    # Thousands of numbers, checked when they were made: no need to validate them again.
    return Response(to_json(answer), media_type="application/json")


@routes.post("/projects/{project}/predict-one", response_model=schemas.OnePrediction)
async def predict_one(at: Reader, body: schemas.PredictOne) -> Any:
    """The class of one text or row, in the flattest form: for tools that take what a template says."""
    given = [body.text] if body.text is not None else _given([body.features] if body.features is not None else [])
    answer = await at.do(PredictRows(at.project, await at.in_thread(readable, at.project, given)), LATER)
    (found,) = answer["predictions"]
    return {"label": found["label"], "score": found["probabilities"][found["label"]]}


def _given(rows: list[schemas.Features]) -> list[Any]:
    return [row if isinstance(row, list) else (row.indices, row.values) for row in rows]
