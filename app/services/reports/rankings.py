"""Items worth a look: uncertain, surprising, disagreed on, unlike all others."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from app.db.database import Database
from app.services.project.view import View
from app.services.reports.report import Report
from core import Published
from core._types import Floats, Indices, no_rows

Ranking = Literal["uncertain", "surprising", "disagreed", "unlike"]
SHOWN = ("key", "data", "label", "votes")


@dataclass(frozen=True)
class Ranked:
    """Items, first the one that should be looked at first, with what the model says of each."""

    items: Indices  # k
    scores: Floats  # k
    probabilities: Floats  # k x M; no rows without a model


def rank_items(database: Database, project_id: str, view: View, by: Ranking, limit: int) -> list[dict[str, Any]]:
    """Up to `limit` items with their data and votes, the one to look at first at the beginning."""
    with database.read() as connection:
        report = Report(connection, project_id)
        if by == "disagreed":
            found = _disagreed(report.contested(), view.model, limit)
        elif by == "unlike":
            found = unlike(view.model, limit)
        elif view.model is None or not view.model.tells_classes_apart:
            return []
        else:
            found = (uncertain if by == "uncertain" else surprising)(view.model, limit)
        numbers = found.items.tolist()
        described = report.items_with_numbers(report.ledger(numbers), numbers)
    classes = view.model.classes if view.model is not None else ()
    return [
        {name: item[name] for name in SHOWN} | {"score": float(score)} | _opinion(classes, probabilities)
        for item, score, probabilities in zip(described, found.scores, found.probabilities, strict=True)
    ]


def uncertain(model: Published, limit: int) -> Ranked:
    """Unlabelled items by the probability that their predicted class is wrong."""
    free = np.flatnonzero(model.labels < 0)
    items = free[np.argsort(-model.uncertainty[free], kind="stable")[:limit]]
    return Ranked(items, model.uncertainty[items], model.probabilities_of(items))


def surprising(model: Published, limit: int) -> Ranked:
    """Labelled items by the probability, by all other labels, that their label is wrong."""
    left_out = model.left_out
    probabilities = left_out.probabilities
    wrong = 1.0 - model.nodes.tree.to_nodes(probabilities)[np.arange(len(left_out.items)), left_out.labels]
    first = np.argsort(-wrong, kind="stable")[:limit]
    return Ranked(left_out.items[first], wrong[first], probabilities[first])


def unlike(model: Published | None, limit: int) -> Ranked:
    """Unlabelled items by how unlike everything labelled they are, where there are labels and the model tells."""
    known = None if model is None or not (model.labels >= 0).any() else model.novelty
    if model is None or known is None:
        return Ranked(no_rows(), np.empty(0), np.empty((0, 0)))
    free = np.flatnonzero(model.labels < 0)
    items = free[np.argsort(-known[free], kind="stable")[:limit]]
    return Ranked(items, known[items], _if_told(model, items))


def disagreement(votes: Mapping[str, int]) -> float:
    """The probability that two votes, drawn with replacement, differ.

    >>> disagreement({"ann": 0, "bob": 1}), disagreement({"ann": 0, "bob": 0})
    (0.5, 0.0)
    """
    return 1.0 - sum((count / len(votes)) ** 2 for count in Counter(votes.values()).values())


def _disagreed(votes: Mapping[int, Mapping[str, int]], model: Published | None, limit: int) -> Ranked:
    """Items with different votes; of equally disagreed ones first those with more votes."""
    scores = {item: disagreement(cast) for item, cast in votes.items()}
    order = sorted((item for item in scores if scores[item] > 0.0), key=lambda i: (-scores[i], -len(votes[i]), i))
    items = np.array(order[:limit], dtype=np.int64)
    return Ranked(items, np.array([scores[item] for item in items.tolist()]), _if_told(model, items))


def _if_told(model: Published | None, items: Indices) -> Floats:
    """Probabilities of items, where there is a model that knows them and tells classes apart; else no numbers."""
    probabilities = np.full((len(items), len(model.classes) if model is not None else 0), np.nan)
    if model is not None and model.tells_classes_apart:
        known = items < len(model)
        probabilities[known] = model.probabilities_of(items[known])
    return probabilities


def _opinion(classes: tuple[str, ...], probabilities: Floats) -> dict[str, Any]:
    """The predicted class and its probability, where there is a model that tells."""
    if not len(probabilities) or np.isnan(probabilities).any():
        return {"predicted": None, "probability": None}
    best = int(probabilities.argmax())
    return {"predicted": classes[best], "probability": float(probabilities[best])}
