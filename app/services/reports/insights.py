"""How the learning goes: learning curve, class counts, uncertainty; from the log and the published state."""

from dataclasses import asdict
from typing import Any

import numpy as np
from sqlalchemy import Connection

from app.db import events, projects
from app.db.database import Database
from app.services.project.class_book import ClassBook
from app.services.reports.accuracy import Evidence, accuracy
from app.services.reports.model import estimates
from core import Published
from core.insight.stopping import learning_curve

BINS = 20


def insights(database: Database, project_id: str, evidence: Evidence, for_leads: bool) -> dict[str, Any]:
    """Accuracy, learning curve, class counts and uncertainty; nobody waits for anybody."""
    view = evidence.view
    with database.read() as connection:
        classes = ClassBook.of(projects.all_classes(connection, project_id))
        points = curve(connection, project_id, classes, view.model)
    return {
        "version": view.version,
        "accuracy": accuracy(evidence),
        "curve": points,
        "classes": class_counts(classes.active(), view.model),
        "uncertainty": uncertainty_histogram(view.model),
        "estimates": estimates(view, for_leads=for_leads),
    }


def curve(connection: Connection, project_id: str, classes: ClassBook, model: Published | None) -> list[dict[str, Any]]:
    """Accuracy on items drawn at random, against the labels given; see `core.insight.stopping.learning_curve`.

    An item counts with what the model thought of it before its first label, and is right if that is its label today, or
    a kind of it.
    """
    if model is None:
        return []
    numbers = [classes.number(name) for name in model.nodes.names]
    hits = [
        (row.labels, label is not None and classes.covers(label, row.predicted))
        for row in events.first_drawn(connection, project_id)
        if row.item < len(model.labels) and model.labels[row.item] >= 0
        for label in [numbers[model.labels[row.item]]]
    ]
    table = np.array(hits, dtype=np.int64).reshape(-1, 2)
    return [asdict(point) for point in learning_curve(table[:, 0], table[:, 1])]


def class_counts(names: list[str], model: Published | None) -> dict[str, dict[str, int]]:
    """How many items have each label, and how many of the others the model takes for each class."""
    counts = {name: {"labelled": 0, "predicted": 0} for name in names}
    if model is not None:
        free = model.labels < 0
        predicted = model.predicted[free & model.tells_classes_apart]
        for kind, found in (("labelled", model.labels[~free]), ("predicted", predicted)):
            for name, count in zip(
                model.nodes.names, np.bincount(found, minlength=len(model.nodes.names)), strict=True
            ):
                counts.setdefault(name, {"labelled": 0, "predicted": 0})[kind] = int(count)
    return counts


def uncertainty_histogram(model: Published | None) -> dict[str, list[float] | list[int]]:
    """Unlabelled items by the probability that their predicted class is wrong; of M classes it is at most 1 - 1 / M."""
    if model is None or not model.tells_classes_apart:
        return {"edges": [], "counts": []}
    edges = np.linspace(0.0, 1.0 - 1.0 / len(model.classes), BINS + 1)
    counts, _ = np.histogram(np.clip(model.uncertainty[model.labels < 0], 0.0, edges[-1]), edges)
    return {"edges": edges.tolist(), "counts": counts.tolist()}
