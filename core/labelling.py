"""What a learner knows besides its items and settings: with them it makes the same model again."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from core._types import Floats, Indices
from core.softmax import ClassTree

COMPARE_EVERY = 20  # labels between which predictions are compared


def nothing() -> Indices:
    """No items."""
    return np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class Parameters:
    """What training found, as plain numbers.

    `kernel` is the name of the candidate in use and `decided_at` the number of labels it was chosen on, where the
    settings leave the choice; `theta` the kernel's parameters and the noise (in a tree one for each depth), or None for
    those of the settings.

    `model` is the one in use and `compared_at` the number of labels it was chosen on, where that is left open, too.
    `trees` are those of a forest (see core.forest.tree) and `grown_at` the number of labels they were grown on.
    `warnings` tell which parameters ended at a bound of their search.
    """

    kernel: str | None = None
    decided_at: int = 0
    theta: tuple[float, ...] | None = None
    model: str | None = None
    compared_at: int = 0
    trees: tuple[tuple[tuple[float, ...], ...], ...] = ()
    grown_at: int = 0
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class TrackRecord:
    """How the model has done: what it foretold of items drawn at random, and what it predicted some labels ago."""

    foretold: Mapping[int, int] = field(default_factory=dict)  # item: 1 if its class was predicted right, else 0
    guesses: Indices = field(default_factory=nothing)  # predicted class of each item, 20 to 40 labels ago
    later_guesses: Indices = field(default_factory=nothing)  # and less long ago

    def before_labels(
        self,
        numbers: Mapping[int, int],
        predicted: Callable[[Indices | None], Indices] | None,
        n_labels: int,
        drawn: Collection[int],
        tree: ClassTree,
    ) -> "TrackRecord":
        """Items are about to get their first labels: which classes are predicted (None while there is no telling)?

        A label at an inner node was foretold by any class under it.
        """
        record = self
        if (n_labels - 1) // COMPARE_EVERY < (n_labels + len(numbers) - 1) // COMPARE_EVERY:
            guesses = nothing() if predicted is None else predicted(None)
            record = replace(record, guesses=self.later_guesses, later_guesses=guesses)
        judged = {item: number for item, number in numbers.items() if item in drawn}
        if predicted is not None and judged:
            items, labels = (np.array(list(part), dtype=np.int64) for part in (judged, judged.values()))
            right = tree.covers(labels, predicted(items))
            told = dict(zip(judged, right.astype(int).tolist(), strict=True))
            record = replace(record, foretold={**told, **self.foretold})
        return record


@dataclass(frozen=True, eq=False)
class Labelling:
    """Classes, labels by item, how much each is to be doubted, and what was found by training.

    `parents` tell what some of the classes are a kind of.
    """

    classes: tuple[str, ...]
    labels: Mapping[int, str] = field(default_factory=dict)
    doubts: Mapping[int, float] = field(default_factory=dict)
    parameters: Parameters = Parameters()
    record: TrackRecord = field(default_factory=TrackRecord)
    version: int = 0
    parents: Mapping[str, str] = field(default_factory=dict)


def best_class(means: Floats) -> Indices:
    """The class number with the largest mean, for each row."""
    return np.asarray(means.argmax(axis=1)) if len(means) else nothing()


def most_probable(probabilities: Floats, means: Floats) -> Indices:
    """The class number with the largest probability, for each row; of equal ones that with the largest mean.

    >>> most_probable(np.array([[0.4, 0.4, 0.2]]), np.array([[-0.3, -0.2, 0.1]])).tolist()
    [1]
    """
    if not probabilities.size:
        return nothing()
    best = probabilities == probabilities.max(axis=1, keepdims=True)
    return best_class(np.where(best, means, -np.inf))
