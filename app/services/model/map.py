"""A map of the pool: where each item lies by the kernel, found once for each training; colours are those of today."""

import threading
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from app.services.project.state import Project
from app.services.project.view import View
from app.services.runtime.writer import LATER, Task, Writer
from core import Published
from core._types import Floats, Indices
from core.insight.pool_map import plane_map


@dataclass
class TakeKernel(Task):
    """The kernel and the items as they are now; cheap, since nothing is copied."""

    project: Project

    def respond(self) -> None:
        """Kernel and items between two turns, so that they belong together."""
        learner = self.project.learner
        self.answer = self.project.training_id, learner.pool_kernel() if learner is not None and len(learner) else None


@dataclass
class PoolMap:
    """Coordinates of all items, of one training."""

    _lock: threading.Lock = field(default_factory=threading.Lock)
    _made_of: tuple[int, int] | None = None  # training and number of items
    _places: Floats = field(default_factory=lambda: np.empty((0, 2)))

    def places(self, project: Project, writer: Writer) -> Floats:
        """Items x 2; whoever comes first after a training finds them, and others wait for that."""
        with self._lock:
            view = project.view
            if view.model is not None and self._made_of != (view.training_id, len(view.model)):
                training_id, kernel = writer.do(TakeKernel(project), LATER)
                if kernel is not None:
                    self._places, self._made_of = plane_map(kernel), (training_id, len(kernel))
            return self._places


def points(view: View, keys: list[str], places: Floats, limit: int) -> dict[str, Any]:
    """Up to `limit` items with their coordinates, labels and predictions."""
    model = view.model
    if model is None:
        return {"version": view.version, "items": view.n_items, "points": []}
    items = sample(model.labels[: min(len(places), len(keys))], limit)
    guesses = _guesses(model, items)
    names = [*model.nodes.names, None]  # the last for items without a label
    found = [
        {"key": keys[item], "x": x, "y": y, "label": names[label], "predicted": guess, "uncertainty": doubt}
        for item, (x, y), label, (guess, doubt) in zip(
            items.tolist(), places[items].tolist(), model.labels[items].tolist(), guesses, strict=True
        )
    ]
    return {"version": view.version, "items": view.n_items, "points": found}


def sample(labels: Indices, limit: int) -> Indices:
    """Evenly spread items, up to half of them labelled ones: few as they are, they should be seen."""
    labelled, others = np.flatnonzero(labels >= 0), np.flatnonzero(labels < 0)
    n_labelled = min(len(labelled), max(limit // 2, limit - len(others)))
    return np.sort(np.concatenate([_spread(labelled, n_labelled), _spread(others, limit - n_labelled)]))


def _spread(items: Indices, count: int) -> Indices:
    return items if len(items) <= count else items[np.linspace(0, len(items) - 1, count).astype(np.int64)]


def _guesses(model: Published, items: Indices) -> list[tuple[str | None, float]]:
    """The predicted class of each item, and the probability that it is wrong."""
    if not model.tells_classes_apart:
        return [(None, 1.0)] * len(items)
    probabilities = model.probabilities_of(items)
    doubts = np.clip(1.0 - probabilities.max(axis=1), 0.0, 1.0).tolist()
    predicted = model.predicted_of(items).tolist()
    return [(model.classes[number], doubt) for number, doubt in zip(predicted, doubts, strict=True)]
