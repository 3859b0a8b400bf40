"""What readers see of a learner."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from scipy.special import softmax

from core._types import Floats, Indices
from core.choice import Choice
from core.drafts import read_only
from core.forest import Votes
from core.labelling import TrackRecord, best_class, most_probable
from core.model_choice import ModelChoice
from core.nodes import Nodes
from core.posterior import Part, Parts, one_vs_all, probit
from core.posterior.parts import best_classes, means_of, variances_of, whole
from core.settings import Likelihood
from core.softmax import Targets
from core.stopping import Advice, advice

LEAST_SHARE = 1e-12  # of a label's noise that its own item does not explain, as far as rounding can tell


def class_probabilities(likelihood: Likelihood, means: Floats, variances: Floats) -> Floats:
    """Of each class, from means (rows x M) and the variances of targets (rows), which softmax does without."""
    if not means.size:
        return means
    return probit(means, variances) if likelihood == "gaussian" else np.asarray(softmax(means, axis=1))


def doubt(probabilities: Floats) -> Floats:
    """The probability that the most probable class is wrong, of each row."""
    return np.asarray(np.clip(1.0 - probabilities.max(axis=1), 0.0, 1.0))


def predicted_classes(pool: Parts, votes: Votes | None, items: Indices | None = None) -> Indices:
    """The most probable class of some items, or of all: that of the largest mean, unless trees vote."""
    if votes is None:
        return whole(pool.collect(best_classes)) if items is None else best_class(pool.take(items).mean)
    some = np.arange(len(pool)) if items is None else items
    return most_probable(votes.probabilities(some), pool.take(some).mean)


@dataclass(frozen=True)
class _Uncertainty:
    """A look at a part: the probability that the predicted class is wrong, of each item."""

    likelihood: Likelihood
    noise: float

    def __call__(self, _: int, part: Part) -> Floats:
        return doubt(class_probabilities(self.likelihood, part.mean, part.variance + self.noise))


@dataclass(frozen=True, eq=False)
class LeftOut:
    """The labelled items, and what all other labels say of each of them."""

    items: Indices  # n
    labels: Indices  # n, node numbers
    means: Floats  # n x M
    variances: Floats  # n, of the targets
    likelihood: Likelihood
    averaged: Floats | None = None  # n x M, probabilities averaged over trees

    @property
    def probabilities(self) -> Floats:
        """Of each class, n x M."""
        if self.averaged is not None:
            return self.averaged
        return class_probabilities(self.likelihood, self.means, self.variances)

    @property
    def predicted(self) -> Indices:
        """The class that the others tell, n."""
        return best_class(self.means) if self.averaged is None else most_probable(self.averaged, self.means)


@dataclass(frozen=True, eq=False)
class Published:
    """An immutable view of a learner, for any number of readers while the learner goes on."""

    version: int
    nodes: Nodes
    likelihood: Likelihood
    pool: Parts  # mean and variance of the items
    noise: float
    noises: Floats  # items; of the label there is, or of one to come
    labels: Indices  # items; node numbers, -1 without a label
    record: TrackRecord
    kernel: str  # name of the one in use
    solver: str  # name of the posterior in use
    rounds: int  # of conjugate gradients, if it is the iterative one
    hyperparameters: Mapping[str, float]  # kernel parameters and noise
    choice: Choice | None  # with kernel="auto", how the kernel was chosen
    model: str = "gp"  # or forest
    model_choice: ModelChoice | None = None  # with model="auto", how it was chosen
    votes: Votes | None = None  # of the trees of a forest: probabilities are their average
    is_outgrown: bool = False  # whether a leaf of a forest has become too large
    warnings: tuple[str, ...] = ()  # of the last training

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
        return read_only(whole(self.pool.collect(means_of)))

    @cached_property
    def variance(self) -> Floats:
        """Of all items."""
        return read_only(whole(self.pool.collect(variances_of)))

    def moments(self, items: Indices) -> tuple[Floats, Floats]:
        """Means (items x M) and variances of some items."""
        some = self.pool.take(items)
        return some.mean, some.variance

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes that items are one of, M."""
        return self.nodes.classes

    @cached_property
    def probabilities(self) -> Floats:
        """Of each item and class."""
        if self.votes is not None:
            return self.votes.probabilities(np.arange(len(self.mean)))
        return class_probabilities(self.likelihood, self.mean, self.variance + self.noise)

    def probabilities_of(self, items: Indices) -> Floats:
        """Of some items and each class."""
        if self.votes is not None:
            return self.votes.probabilities(items)
        mean, variance = self.moments(items)
        return class_probabilities(self.likelihood, mean, variance + self.noise)

    @property
    def tells_classes_apart(self) -> bool:
        """Whether there are labels of two classes: before, predicted classes mean nothing."""
        seen = self.labels[self.labels >= 0]
        return bool(len(seen)) and bool((seen != seen[0]).any())

    @property
    def predicted(self) -> Indices:
        """The most probable class of each item."""
        return predicted_classes(self.pool, self.votes)

    def predicted_of(self, items: Indices) -> Indices:
        """The most probable class of some items."""
        return predicted_classes(self.pool, self.votes, items)

    @cached_property
    def uncertainty(self) -> Floats:
        """The probability that the predicted class of each item is wrong; items."""
        if self.votes is not None:
            return doubt(self.probabilities)
        return whole(self.pool.collect(_Uncertainty(self.likelihood, self.noise)))

    @cached_property
    def left_out(self) -> LeftOut:
        """Each label foretold by the others, from what is published: no system is solved for it.

        With B = (K + N)^-1 = N^-1 - N^-1 cov N^-1, the posterior covariance of the labelled items gives
        B_ii = (1 - var_i / N_i) / N_i, and mean_i - mu_-i = alpha_i var_i / (1 - var_i / N_i) with alpha_i = (y_i -
        mean_i) / N_i (design, section 4). Under the softmax likelihood alpha_i is y_i less the probabilities, which
        makes it the first step towards what the others say.
        """
        items = np.flatnonzero(self.labels >= 0)
        labels, noise, (mean, variance) = self.labels[items], self.noises[items], self.moments(items)
        if self.votes is not None:
            means, variances, averaged = self.votes.left_out(items, labels, noise)
            return LeftOut(items, labels, means, variances, self.likelihood, averaged)
        share = np.clip(1.0 - variance / noise, LEAST_SHARE, 1.0)
        if self.likelihood == "gaussian":
            targets = one_vs_all(labels, len(self.classes))
            means = targets - (targets - mean) / share[:, None]
        else:
            p = class_probabilities(self.likelihood, mean, noise)
            surprise = Targets.of(labels, self.nodes.tree).expected(p[:, None])[:, 0] - p
            means = mean - surprise * (variance / share * self.noise / noise)[:, None]
        return LeftOut(items, labels, means, noise / share, self.likelihood)

    def advice(self) -> list[Advice]:
        """Whether to go on or stop, from four sides."""
        known, left_out = self.tells_classes_apart, self.left_out
        return advice(
            self.nodes.tree.covers(left_out.labels, left_out.predicted),
            self.record,
            self.predicted if known else self.labels[:0],
            self.uncertainty if known else self.noises[:0],
        )
