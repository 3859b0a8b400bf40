"""What is sent to Label Studio: predictions, and in which order to ask."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from app.label_studio.label_config import LabelConfig
from app.services.labelling.questions import Ask, pick_items
from app.services.model.predictions import predictions
from app.services.project.state import Project
from app.services.project.view import View
from app.services.runtime.clock import now
from app.services.runtime.writer import Task
from core.queries import Pick

PREFIX = "asknext-"
STEP = 1e-6  # between scores, where the order would not show otherwise
UNKNOWN = {"result": [], "score": 1.0}  # what is not in the model is asked last
NOTHING_LEARNT = {"result": [], "score": 0.5}


def version_name(version: int) -> str:
    """A version of the model as Label Studio shows it."""
    return f"{PREFIX}{version}"


def is_version(name: str) -> bool:
    """Whether a version is one of AskNext's.

    >>> is_version(version_name(42)), is_version("bert")
    (True, False)
    """
    return name.startswith(PREFIX)


@dataclass(frozen=True)
class Best:
    """Items to ask about, the best first, with the prediction of each."""

    version: int
    items: list[int] = field(default_factory=list)
    drawn: list[bool] = field(default_factory=list)  # by lot
    predictions: list[dict[str, Any]] = field(default_factory=list)  # result and score


@dataclass
class ChooseBest(Task):
    """The next items, for whoever comes: nobody is promised any."""

    project: Project
    config: LabelConfig
    groups: Sequence[Collection[int]]  # items of a group come only when those before it are used up
    count: int

    def respond(self) -> None:
        """The items to ask about, by the model that has learnt everything."""
        project = self.project
        free, picks = project.open_items("", now()), list[Pick]()
        for group in self.groups:
            chosen = np.zeros_like(free)
            chosen[[item for item in group if item < len(chosen)]] = True
            picks += pick_items(project, free & chosen, Ask(), self.count - len(picks))
        items = [pick.row for pick in picks]
        learner = project.learner
        known = [item for item in items if learner is not None and item < len(learner)]
        entries_by_item: dict[int, dict[str, Any]] = {}
        if learner is not None and known and len(np.unique(learner.labels[learner.labels >= 0])) > 1:
            model, numbers = learner.publish(), np.array(known)
            found = predictions(model.nodes, model.predictive(numbers))
            entries_by_item = {item: as_prediction(self.config, one) for item, one in zip(known, found, strict=True)}
        entries = in_order([entries_by_item.get(item, NOTHING_LEARNT) for item in items])
        drawn = [pick.explored or pick.strategy == "random" for pick in picks]
        self.answer = Best(project.version, items, drawn, entries)


def in_order(entries: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Entries with scores that grow: Label Studio asks in their order.

    >>> [round(one["score"], 6) for one in in_order([{"score": 0.5}, {"score": 0.4}, {"score": 0.9}])]
    [0.5, 0.500001, 0.9]
    """
    scores = np.array([entry["score"] for entry in entries], dtype=np.float64)
    steps = STEP * np.arange(len(scores))
    rising = np.maximum.accumulate(scores - steps) + steps if len(scores) else scores
    return [entry | {"score": float(score)} for entry, score in zip(entries, rising, strict=True)]


def as_prediction(config: LabelConfig, prediction: dict[str, Any]) -> dict[str, Any]:
    """Result and score of a prediction: the likeliest class that the label config offers, and how likely it is."""
    offered = {name: prediction["probabilities"].get(name, 0.0) for name in config.classes}
    best = max(offered, key=lambda name: offered[name])
    return {"result": config.result(best), "score": offered[best]}


def item_predictions(view: View, config: LabelConfig, numbers: Sequence[int | None]) -> list[dict[str, Any]]:
    """Result and score of items, from the published state."""
    model = view.model
    if model is None or view.n_seen < 2:
        return [NOTHING_LEARNT if number is not None else UNKNOWN for number in numbers]
    known = [number for number in numbers if number is not None and number < len(model)]
    rows = np.array(known, dtype=np.int64)
    found = predictions(model.nodes, model.predictive(rows))
    entries_by_item = {number: as_prediction(config, one) for number, one in zip(known, found, strict=True)}
    return [entries_by_item.get(number, UNKNOWN) if number is not None else UNKNOWN for number in numbers]
