"""Predictions: of items from the published state, of other rows by the learner itself."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from app.services.items import features
from app.services.items.encoder import encode_few, is_raw
from app.services.problems import Conflict, Invalid, NotFound
from app.services.project.state import Project
from app.services.project.view import View
from app.services.runtime.writer import Task
from core import Published
from core._types import Table
from core.classes.nodes import Nodes
from core.learner.view import Predictive
from core.probabilities import most_probable
from core.variance import VarianceName


@dataclass
class PredictRows(Task):
    """Means and variances of rows that need not be items."""

    project: Project
    table: Table
    variance: VarianceName = "exact"

    def respond(self) -> None:
        """The predictions of the learner as it is."""
        learner = self.project.learner
        if learner is None or not len(learner) or not learner.classes:
            raise Conflict("there is no model yet: add items and classes first")
        try:
            found = learner.predictive(self.table, self.variance)
        except ValueError as error:
            raise Invalid(f"these rows cannot be predicted: {error}") from error
        if not (np.isfinite(found.mean).all() and np.isfinite(found.variance).all()):
            raise Invalid("these rows cannot be predicted: their values are too large")
        published = self.project.view.model
        self.answer = {
            "model_version": self.project.version,
            "degraded": self.project.degraded is not None,
            "variance": self.variance,
            "predictions": predictions(learner.nodes, found, published.unlike_above if published else None),
        }


def rows_as_table(project: Project, rows: Sequence[Any]) -> Table:
    """Rows of a request as a table; raw ones are encoded."""
    if is_raw(project, rows[0]):
        return features.table(encode_few(project, rows), project.width or 0)
    try:
        return features.given_table(rows, project.width or 0)
    except ValueError as error:
        raise Invalid(str(error)) from error


def predict_items(view: View, numbers: Sequence[int | None]) -> dict[str, Any]:
    """Predictions of items by their numbers, from the published state: nobody waits for anybody."""
    model = known_model(view)
    for place, number in enumerate(numbers):
        if number is None or number >= len(model):
            raise NotFound(f"entry {place}: there is no item with this key in the model")
    rows = np.array(numbers, dtype=np.int64)
    return {
        "model_version": view.version,
        "degraded": view.degraded is not None,
        "variance": "exact",  # it is known of all items
        "predictions": predictions(model.nodes, model.predictive(rows), model.unlike_above),
    }


def known_model(view: View) -> Published:
    """The published model, if there is one yet."""
    if view.model is None or not view.model.classes:
        raise Conflict("there is no model yet: add items and classes first")
    return view.model


def predictions(nodes: Nodes, found: Predictive, unlike_above: float | None = None) -> list[dict[str, Any]]:
    """For each row: the best class, all probabilities and means, the variance and novelty; and what a tree tells."""
    mean, variance, probabilities, _ = found
    classes, inner, tree = nodes.classes, nodes.names[len(nodes.classes) :], nodes.tree
    above = tree.to_nodes(probabilities)[:, len(classes) :]
    likeliest = most_probable(probabilities, mean).tolist()
    novelty: list[float | None] = [None] * len(mean) if found.novelty is None else found.novelty.tolist()
    return [
        {
            "label": classes[best],
            "decision": classes[near],
            "probabilities": dict(zip(classes, p, strict=True)),
            "nodes": dict(zip(inner, q, strict=True)),
            "mean": dict(zip(classes, m, strict=True)),
            "variance": v,
            "novelty": new,
            "unlike": None if new is None or unlike_above is None else new > unlike_above,
        }
        for best, near, p, q, m, v, new in zip(
            likeliest,
            tree.decide(probabilities, "tree").tolist() if inner else likeliest,
            probabilities.tolist(),
            above.tolist(),
            mean.tolist(),
            variance.tolist(),
            novelty,
            strict=True,
        )
    ]
