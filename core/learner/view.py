"""What readers see of a learner."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import NamedTuple

import numpy as np

from core._types import Floats, Indices
from core.classes import Nodes
from core.drafts import read_only
from core.insight.accuracy import TARGET, Accuracy, Draws, judge
from core.insight.novelty import novelty_left_out, unlike_above
from core.insight.stopping import Estimate, estimates
from core.insight.track_record import Draw, TrackRecord
from core.models.base import ItemPredictions, LeftOut, ModelName
from core.posterior import Part, Parts
from core.posterior.parts import concatenate_parts, means_of, variances_of
from core.probabilities import Likelihood, novelty
from core.selection.compare import Verdict
from core.selection.kernel import Choice
from core.variance import PriorVariance


class Predictive(NamedTuple):
    """What is predicted of rows."""

    mean: Floats  # rows x M
    variance: Floats  # rows; of the latent functions, or an upper bound of it
    probabilities: Floats  # rows x M
    novelty: Floats | None  # rows, from 0 to 1 (see core.insight.novelty); None where variances do not tell


@dataclass(frozen=True, eq=False)
class Published:
    """An immutable view of a learner, for any number of readers while the learner goes on."""

    version: int
    nodes: Nodes
    pool: Parts  # mean and variance of the items
    item_predictions: ItemPredictions  # classes and probabilities of the items
    noise: float
    noises: Floats  # items; of the label there is, or of one to come
    labels: Indices  # items; node numbers, -1 without a label
    record: TrackRecord
    kernel: str  # name of the one in use
    solver: str  # name of the posterior in use
    rounds: int  # of conjugate gradients, if it is the iterative one
    hyperparameters: Mapping[str, float]  # kernel parameters and noise
    choice: Choice | None  # with kernel="auto", how the kernel was chosen
    model: ModelName = "gp"
    model_choice: Verdict | None = None  # with model="auto", how it was chosen
    is_outgrown: bool = False  # whether a leaf of a forest has become too large
    warnings: tuple[str, ...] = ()  # of the last training
    likelihood: Likelihood = "gaussian"  # the one in use
    likelihood_choice: Verdict | None = None  # with likelihood="auto", how it was chosen
    prior: PriorVariance | None = None  # of items, where the model tells how unlike labels they are

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                object.__setattr__(self, field.name, read_only(value))

    def __len__(self) -> int:
        return len(self.pool)

    @cached_property
    def mean(self) -> Floats:
        """Of all items, items x M."""
        return read_only(concatenate_parts(self.pool.collect(means_of)))

    @cached_property
    def variance(self) -> Floats:
        """Of all items."""
        return read_only(concatenate_parts(self.pool.collect(variances_of)))

    def moments(self, items: Indices) -> tuple[Floats, Floats]:
        """Means (items x M) and variances of some items."""
        some = self.pool.take(items)
        return some.mean, some.variance

    def predictive(self, items: Indices) -> Predictive:
        """What is predicted of some items."""
        some = self.pool.take(items)
        known = None if self.prior is None else novelty(some.variance, self.prior(some.rows))
        return Predictive(some.mean, some.variance, self.item_predictions.probabilities(items), known)

    @cached_property
    def novelty(self) -> Floats | None:
        """How unlike everything labelled each item is, from 0 to 1; None where the model does not tell."""
        if self.prior is None:
            return None
        return read_only(concatenate_parts(self.pool.collect(_Novelty(self.prior.for_items()))))

    @cached_property
    def unlike_above(self) -> float | None:
        """The novelty above which an item is unlike everything labelled; None where that cannot be said."""
        if self.prior is None:
            return None
        items = np.flatnonzero(self.labels >= 0)
        some = self.pool.take(items)
        return unlike_above(novelty_left_out(some.variance, self.noises[items], self.prior(some.rows)))

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes that items are one of, M."""
        return self.nodes.classes

    @cached_property
    def probabilities(self) -> Floats:
        """Of each item and class."""
        return self.item_predictions.probabilities()

    def probabilities_of(self, items: Indices) -> Floats:
        """Of some items and each class."""
        return self.item_predictions.probabilities(items)

    @property
    def tells_classes_apart(self) -> bool:
        """Whether there are labels of two classes: before, predicted classes mean nothing."""
        seen = self.labels[self.labels >= 0]
        return bool(len(seen)) and bool((seen != seen[0]).any())

    @property
    def predicted(self) -> Indices:
        """The most probable class of each item."""
        return self.item_predictions.predicted()

    def predicted_of(self, items: Indices) -> Indices:
        """The most probable class of some items."""
        return self.item_predictions.predicted(items)

    @cached_property
    def uncertainty(self) -> Floats:
        """The probability that the predicted class of each item is wrong; items."""
        return self.item_predictions.uncertainty()

    @cached_property
    def left_out(self) -> LeftOut:
        """Each label predicted by the others, from what is published: no system is solved for it."""
        items = np.flatnonzero(self.labels >= 0)
        return self.item_predictions.left_out(items, self.labels[items], self.noises[items], self.nodes.tree)

    def accuracy(self, target: float = TARGET, draws: Mapping[int, Draw] | None = None) -> Accuracy:
        """How many of the items without a label are classed right, by items drawn at random.

        `draws` are those of the learner's own record if they are not given. A target is met if `sure` says so.
        """
        labelled = np.flatnonzero(self.labels >= 0)
        free = np.flatnonzero(self.labels < 0)
        known = Draws.of(self.record.draws if draws is None else draws, labelled, len(self.labels))
        stated = 1.0 - float(self.uncertainty[free].mean()) if len(free) and self.tells_classes_apart else None
        return judge(known, len(labelled), stated, target)

    def estimates(self) -> list[Estimate]:
        """What else can be said of the model, from three sides."""
        known, left_out = self.tells_classes_apart, self.left_out
        return estimates(
            self.nodes.tree.covers(left_out.labels, left_out.predicted),
            self.record.guesses,
            self.predicted if known else self.labels[:0],
            self.uncertainty if known else self.noises[:0],
        )


@dataclass(frozen=True, eq=False)
class _Novelty:
    """Picklable function for `Parts.collect`: the novelty of each item."""

    prior: PriorVariance

    def __call__(self, _: int, part: Part) -> Floats:
        return novelty(part.variance, self.prior(part.rows))
