"""A leaf: the labelled rows that end in it, and the Gaussian process over them."""

from dataclasses import dataclass, replace

import numpy as np

from core._types import Floats, Indices
from core.drafts import Drafted
from core.kernels import Kernel
from core.posterior import LabelRegression
from core.rows import Rows

MIN_ROWS = 20  # to learn hyperparameters from
Place = tuple[int, int]  # tree and node


@dataclass(frozen=True, eq=False)
class LeafSettings:
    """What all leaves have in common."""

    kernel: Kernel
    noise: float
    leaf_size: int  # rows up to which a node is not split
    max_memory: float  # bytes that the models of all leaves together may take
    every_class: bool = False  # has a function of its own in every leaf, or else those without a row there share one


@dataclass(frozen=True, eq=False)
class Leaf:
    """The labelled rows that end in a leaf; another one takes its place when they change."""

    members: Indices  # numbers of the rows, in the order their labels came
    classes: Indices  # numbers of those that the members have, ascending
    is_root: bool  # the only leaf of its tree
    kernel: Kernel | None = None  # its own, where leaves tune for themselves
    noise: float | None = None
    weights: Floats | None = None  # of a model that was dropped: enough for the mean
    tried: int = 0  # rows it had when it could not be split

    @property
    def pure(self) -> int | None:
        """The only class, which a leaf below a split then says with certainty; None for others.

        One leaf for all rows is the Gaussian process without a tree, which can tell how much a row is like those of a
        single class.
        """
        return int(self.classes[0]) if len(self.classes) == 1 and not self.is_root else None

    def expected(self, settings: LeafSettings) -> Indices:
        """The rows that its model is to know: of a single class, some; the variance is then an upper bound.

        Over a pool, where every class has its function, one leaf for all rows is one Gaussian process in any case.
        """
        if len(self.classes) != 1 or (self.is_root and settings.every_class):
            return self.members
        return self.members[: 2 * settings.leaf_size if self.is_root else settings.leaf_size]

    def changed(self, members: Indices, classes: Indices) -> "Leaf":
        """With other members, or other labels of them."""
        return replace(self, members=members, classes=classes, weights=None)


@dataclass(frozen=True, eq=False)
class LeafModel:
    """The Gaussian process of a leaf, as the leaf was when it was solved."""

    leaf: Leaf
    rows: Indices  # that it knows, in the order of its own rows unless equal ones were merged
    labels: Indices  # their class numbers
    classes: Indices  # those that have a function of their own; the others share the last one
    regression: LabelRegression

    @property
    def memory(self) -> float:
        """Bytes of its factor."""
        return 8.0 * (len(self.regression.labels) + 32.0) ** 2

    @property
    def is_merged(self) -> bool:
        """Whether one row stands for several."""
        return len(self.regression.labels) < len(self.rows)

    def means(self, query: Rows, n_classes: int) -> Floats:
        """Of all classes, rows x M."""
        return for_all_classes(self.regression.posterior.means(query), self.classes, n_classes)

    def variance(self, query: Rows) -> Floats:
        """Of each row."""
        return self.regression.posterior.variance(query)


def for_all_classes(means: Floats, classes: Indices, n_classes: int) -> Floats:
    """Means of all classes from those of some, and of one function (the last) for all others."""
    if len(classes) == n_classes == means.shape[1]:
        return means
    columns = np.full(n_classes, means.shape[1] - 1)
    columns[classes] = np.arange(len(classes))
    return means[:, columns]


class ModelCache(Drafted):
    """Models of leaves within a limit of memory: the one used least recently is dropped first, all but the last."""

    def __init__(self, max_memory: float) -> None:
        self.max_memory = max_memory
        self._models: dict[Place, LeafModel] = {}  # the one used last at the end
        self.memory = 0.0

    def draft(self) -> "ModelCache":
        """A twin (see core.drafts); the models themselves are never changed."""
        twin = super().draft()
        twin._models = dict(self._models)
        return twin

    def __len__(self) -> int:
        return len(self._models)

    def __contains__(self, place: Place) -> bool:
        return place in self._models

    def get(self, place: Place) -> LeafModel | None:
        """The model of a leaf, if it is there; it may be of the leaf as it was before."""
        return self._models.get(place)

    def items(self) -> list[tuple[Place, LeafModel]]:
        """All places and models."""
        return list(self._models.items())

    def keep(self, place: Place, model: LeafModel) -> list[tuple[Place, LeafModel]]:
        """Note that a model was used; returns those that had to go."""
        models = {other: known for other, known in self._models.items() if other != place}
        models[place] = model
        memory = sum(known.memory for known in models.values())
        dropped = []
        while memory > self.max_memory and len(models) > 1:
            oldest = next(iter(models))
            dropped.append((oldest, models.pop(oldest)))
            memory -= dropped[-1][1].memory
        # In one step: readers of a state that is published may note models, too.
        self._models, self.memory = models, memory
        return dropped

    def replace(self, place: Place, model: LeafModel) -> None:
        """Another model at the same place, which does not count as used."""
        self.memory += model.memory - self._models[place].memory
        self._models[place] = model

    def drop(self, place: Place) -> None:
        """Forget a model, if it is there."""
        gone = self._models.pop(place, None)
        self.memory -= gone.memory if gone else 0.0

    def clear(self) -> None:
        """Forget all models."""
        self._models, self.memory = {}, 0.0
