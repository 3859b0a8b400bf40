"""Why the model takes an item for what it does: what speaks for and against, by column."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from app.services.problems import Conflict, NotFound
from app.services.project.state import Project
from app.services.runtime.writer import Task
from core._types import Floats, Indices
from core.insight.explanations import Contributions

MAX_PARTS = 20


@dataclass
class ExplainItem(Task):
    """The parts of an item's mean, by the model as it is: one look into a table."""

    project: Project
    key: str

    def respond(self) -> None:
        """Classes, means, and what each column adds to them."""
        learner, item = self.project.learner, self.project.item_numbers.get(self.key)
        if item is None:
            raise NotFound("there is no item with this key")
        if learner is None or item >= len(learner):
            raise Conflict("this item is not in the model yet: try again in a moment")
        classes = list(learner.classes) if learner.n_seen > 1 else []
        this = np.array([item])
        best = int(learner.predicted(this)[0]) if classes else 0
        self.answer = classes, best, learner.moments_of(this)[0][0], learner.contributions(item)


def explain(
    classes: Sequence[str],
    best: int,
    mean: Floats,
    found: Contributions | None,
    names: Sequence[str] | None = None,
) -> dict[str, Any]:
    """The parts that weigh most in the lead of the predicted class over the next one.

    Lead = parts shown + rest + constant. A kernel that is no sum over columns has no parts.
    """
    if len(classes) < 2:
        return {"label": None, "against": None, "lead": None, "constant": None, "rest": None, "parts": []}
    second = int(np.where(np.arange(len(mean)) == best, -np.inf, mean).argmax())
    answer = {"label": classes[best], "against": classes[second], "lead": float(mean[best] - mean[second])}
    if found is None:
        return answer | {"constant": None, "rest": None, "parts": []}
    weights = found.parts[:, best] - found.parts[:, second]
    columns, weights = _by_name(found.columns, weights, names)
    shown = np.argsort(-np.abs(weights), kind="stable")[:MAX_PARTS]
    shown = shown[weights[shown] != 0.0]
    parts = [
        {"name": names[column] if names else f"column {column}", "weight": weight, "column": column}
        for column, weight in zip(columns[shown].tolist(), weights[shown].tolist(), strict=True)
    ]
    constant = float(found.constant[best] - found.constant[second])
    return answer | {"constant": constant, "rest": float(weights.sum() - weights[shown].sum()), "parts": parts}


def _by_name(columns: Indices, weights: Floats, names: Sequence[str] | None) -> tuple[Indices, Floats]:
    """Columns that share a name, as numbers of a vector do, are one part, known by the first of them."""
    if names is None:
        return columns, weights
    _, first, place = np.unique([names[column] for column in columns], return_index=True, return_inverse=True)
    return columns[first], np.asarray(np.bincount(place, weights), dtype=np.float64)
