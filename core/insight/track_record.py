"""How a model has done so far."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from core._types import Indices, no_rows
from core.classes import ClassTree

COMPARE_EVERY = 20  # labels between which predictions are compared


class Draw(NamedTuple):
    """An item that was drawn at random among those without a label, and predicted before it was labelled."""

    right: int  # 1 if its class was predicted, else 0
    labels: int  # there were before
    items: int  # there were, with a label or without


@dataclass(frozen=True, eq=False)
class TrackRecord:
    """How the model has done: whether it predicted items drawn at random, and what it predicted some labels ago."""

    draws: Mapping[int, Draw] = field(default_factory=dict)  # by item, in their order
    guesses: Indices = field(default_factory=no_rows)  # predicted class of each item, 20 to 40 labels ago
    later_guesses: Indices = field(default_factory=no_rows)  # and less long ago

    @property
    def drawn(self) -> Collection[int]:
        """Items that were drawn at random, and predicted before they got a label."""
        return self.draws.keys()

    def before_labels(
        self,
        numbers: Mapping[int, int],
        predicted: Callable[[Indices | None], Indices] | None,
        n_labels: int,
        n_items: int,
        drawn: Collection[int],
        tree: ClassTree,
    ) -> "TrackRecord":
        """Items are about to get their first labels: which classes are predicted (None while there is no telling)?

        A label at an inner node was predicted by any class under it.
        """
        record = self
        if (n_labels - 1) // COMPARE_EVERY < (n_labels + len(numbers) - 1) // COMPARE_EVERY:
            guesses = no_rows() if predicted is None else predicted(None)
            record = replace(record, guesses=self.later_guesses, later_guesses=guesses)
        asked = {item: number for item, number in numbers.items() if item in drawn and item not in self.draws}
        if predicted is not None and asked:
            items, labels = (np.array(list(part), dtype=np.int64) for part in (asked, asked.values()))
            right = tree.covers(labels, predicted(items)).astype(int).tolist()
            new = {item: Draw(one, n_labels, n_items) for item, one in zip(asked, right, strict=True)}
            record = replace(record, draws={**self.draws, **new})
        return record
