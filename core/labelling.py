"""What a learner knows besides its items and settings: with them it makes the same model again."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from core._types import Floats, Indices
from core.posterior.parts import Parts, best_classes, whole
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
    """

    kernel: str | None = None
    decided_at: int = 0
    theta: tuple[float, ...] | None = None


@dataclass(frozen=True, eq=False)
class TrackRecord:
    """How the model has done: what it foretold of items drawn at random, and what it predicted some labels ago."""

    foretold: Mapping[int, int] = field(default_factory=dict)  # item: 1 if its class was predicted right, else 0
    guesses: Indices = field(default_factory=nothing)  # predicted class of each item, 20 to 40 labels ago
    later_guesses: Indices = field(default_factory=nothing)  # and less long ago

    def before_labels(
        self, numbers: Mapping[int, int], pool: Parts | None, n_labels: int, drawn: Collection[int], tree: ClassTree
    ) -> "TrackRecord":
        """Items are about to get their first labels: what does the pool say (None while it cannot tell classes apart)?

        A label at an inner node was foretold by any class under it.
        """
        record = self
        if (n_labels - 1) // COMPARE_EVERY < (n_labels + len(numbers) - 1) // COMPARE_EVERY:
            now = nothing() if pool is None else whole(pool.collect(best_classes))
            record = replace(record, guesses=self.later_guesses, later_guesses=now)
        judged = {item: number for item, number in numbers.items() if item in drawn}
        if pool is not None and judged:
            guesses = best_class(pool.take(np.array(list(judged))).mean)
            right = tree.covers(np.array(list(judged.values()), dtype=np.int64), guesses)
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
