"""How many items without a label are classed right, by items drawn at random; and whether that is enough.

The mathematics is in core/DESIGN.md, section 11.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

import numpy as np
from scipy.special import bdtr, expit, log_expit, logit

from core._types import Floats, Indices
from core.insight.track_record import Draw

TARGET = 0.95
RISK = 0.05  # that the accuracy was ever below its lower bound
SURE = 0.97  # of the target, to stop
ENOUGH = 10  # draws below which nothing is said
SELDOM = 0.2  # probability below which draws speak against a target
FEW = 5  # below which it is not asked whether more are worth their while
RECENT = 50  # draws that are counted
MORE = 50  # labels to look ahead

FIRST, MIDDLE = 10.0, 60.0  # a learning curve rises with log((labels + FIRST) / MIDDLE)
STEP = 0.1  # of that number, within which draws count as made at the same time
TRUST, MOST_TRUST, TRUST_FROM = 0.7, 0.35, 100  # deviation of log odds from what the model says of itself, with labels
SINGLE = 200  # draws, each with a forecast of its own; later ones share theirs with up to a hundredth more
MAX_BET = 0.95
LEVELS = expit(np.linspace(-2.0, 5.5, 26))  # accuracies that bets are placed against
HALVINGS = 30

_LEVEL, _RISE = (g.ravel() for g in np.meshgrid(np.linspace(-3.0, 8.0, 111), np.linspace(0.0, 4.0, 9)))
_RISES = -0.5 * (_RISE - 1.0) ** 2  # logarithms of the prior
_AT_MIDDLE = -0.5 * ((_LEVEL - 1.5) / 1.5) ** 2


@dataclass(frozen=True, eq=False)
class Draws:
    """Items drawn at random among those without a label, in their order, each predicted before it was labelled.

    >>> even = {i: Draw(1, i, 100) for i in range(3)}
    >>> Draws.of(even, np.arange(3), 100).weights.round(2).tolist()
    [1.0, 1.0, 1.0]
    >>> grown = Draws.of(even | {150: Draw(0, 3, 200)}, np.array([0, 1, 2, 150]), 200)
    >>> grown.weights.round(2).tolist(), grown.share.round(2).tolist(), round(grown.accuracy, 2)
    ([0.4, 0.4, 0.4, 2.8], [0.49, 0.49, 0.49, 1.0], 0.3)
    """

    items: Indices  # k
    right: Floats  # k; 1 or 0
    labels: Indices  # k; there were when the item was drawn
    sizes: Indices  # k; items there were, with a label or without
    share: Floats  # k; of the items without a label today, that could have been drawn then

    def __len__(self) -> int:
        return len(self.right)

    @classmethod
    def of(cls, draws: Mapping[int, Draw], labelled: Indices, n_items: int) -> "Draws":
        """By item, in their order; `labelled` are the items that have a label today."""
        items = np.array(list(draws), dtype=np.int64)
        right, labels, sizes = np.array(list(draws.values()), dtype=np.int64).reshape(-1, 3).T
        there = np.maximum(sizes - np.searchsorted(np.sort(labelled), sizes), 0)
        share = np.minimum(there / max(n_items - len(labelled), 1), 1.0)
        return cls(items, right.astype(np.float64), labels, sizes, share)

    def last(self, count: int) -> "Draws":
        """The last of them."""
        return Draws(*(getattr(self, field.name)[-count:] for field in fields(self)))

    @property
    def weights(self) -> Floats:
        """Against uneven chances of being drawn; k, their mean is 1.

        An item has a chance of 1 / u in each draw from u items without a label that it is one of, and one that came
        later had none before. It weighs the inverse of the sum of its chances (Veach1995). Where nothing came later
        all weights are 1, as are those of Farquhar2021.
        """
        order = np.argsort(self.sizes, kind="stable")
        chances = np.cumsum((1.0 / np.maximum(self.sizes - self.labels, 1))[order][::-1])[::-1]
        place = np.searchsorted(self.sizes[order], self.items, side="right")
        weights = 1.0 / chances[np.minimum(place, len(self) - 1)]
        return np.asarray(weights / weights.mean())

    @property
    def accuracy(self) -> float:
        """The share that was right, by weight."""
        return float(np.average(self.right, weights=self.weights))


@dataclass(frozen=True)
class Accuracy:
    """Of the items without a label, the share that the model classes right; None where it is too early to tell."""

    target: float
    drawn: int = 0  # the last items drawn at random, at most 50
    right: int = 0  # of these
    value: float | None = None  # the share of these, by weight where chances were uneven
    low: float | None = None  # at least, with 95 % confidence however often one looks
    expected: float | None = None  # the best guess for today
    expected_more: float | None = None  # and after 50 more labels
    sure: float | None = None  # the probability that the target is met
    stop: bool = False


def judge(draws: Draws, n_labels: int, stated: float | None, target: float = TARGET) -> Accuracy:
    """What the draws tell of the model of today, which itself expects to be right on a share `stated`,
    if it says anything.

    >>> steady = Draws.of({i: Draw(int(i % 25 > 0), 5 * i, 9000) for i in range(200)}, np.arange(1000), 9000)
    >>> found = judge(steady, 1000, 0.9, 0.9)
    >>> found.drawn, found.right, found.stop, round(found.low, 2), round(found.expected, 2)
    (50, 48, True, 0.9, 0.93)
    """
    recent = draws.last(RECENT)
    if len(draws) < ENOUGH:
        return Accuracy(target, len(recent), int(recent.right.sum()))
    curves = Curves.after(draws, n_labels, stated)
    return Accuracy(
        target,
        len(recent),
        int(recent.right.sum()),
        recent.accuracy,
        lowest_accuracy(draws),
        curves.accuracy(0),
        curves.accuracy(MORE),
        curves.chance(target),
        curves.advises_stop(draws, target),
    )


def is_near(draws: Draws, n_labels: int, target: float) -> bool:
    """Whether the target may be met, by the draws alone, but not surely: then more of them are worth their while."""
    return len(draws) >= FEW and 0.5 <= Curves.after(draws, n_labels).chance(target) < SURE


def lowest_accuracy(draws: Draws, risk: float = RISK) -> float:
    """At least so large is the largest accuracy that the model had at any draw, wrong with probability `risk`.

    Whoever bets against an accuracy of at most a, with stakes that depend on earlier draws alone, does not get richer
    by a factor 1 / risk, at any time, with more than that probability (Waudby2024). The bound is the least a
    against which nobody got so rich. An item drawn before others came tells of its share alone: of all items a means of
    these at most a / share.

    >>> round(lowest_accuracy(Draws.of({i: Draw(1, i, 500) for i in range(60)}, np.arange(60), 500)), 2)
    0.93
    """
    if not len(draws):
        return 0.0
    stakes, low, high = stakes_of(draws), 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if capital(draws, stakes, middle)[-1] >= -np.log(risk) else (low, middle)
    return low


def capital(draws: Draws, stakes: Floats, accuracy: float) -> Floats:
    """The logarithm of what bets against an accuracy have made of 1, after each draw; k."""
    fair = np.minimum(accuracy / np.maximum(draws.share, 1e-12), 1.0)
    logs = np.log1p(stakes * (draws.right - fair)[:, None]).cumsum(axis=0)
    return np.asarray(np.logaddexp.reduce(logs, axis=1) - np.log(len(LEVELS)))


def stakes_of(draws: Draws) -> Floats:
    """On each draw, against each level: those under which capital grows fastest if the forecast is right; k x L.

    They depend on nothing that came later, new items among it.
    """
    edge = _forecasts(replace(draws, share=np.ones(len(draws))))[:, None] - LEVELS
    return np.asarray(np.clip(edge / (LEVELS * (1.0 - LEVELS)), 0.0, MAX_BET))


def _forecasts(draws: Draws) -> Floats:
    """The probability that the model is right on each draw, by the draws before it; k."""
    n = len(draws)
    ends = np.arange(min(n, SINGLE))
    while ends[-1] + ends[-1] // 100 + 1 < n:
        ends = np.append(ends, ends[-1] + ends[-1] // 100 + 1)
    labels = draws.labels[ends]
    logs = _AT_MIDDLE + _RISES + _log_likelihoods(draws, ends, labels, 0.0)
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    found = (weights * expit(_LEVEL + _RISE * _time(labels)[:, None])).sum(axis=1) / weights.sum(axis=1)
    return np.asarray(np.repeat(found, np.diff(np.append(ends, n))))


def _log_likelihoods(draws: Draws, ends: Indices, labels: Indices, origin: float) -> Floats:
    """Of the draws before each of these places, with so many labels, under each curve; ends x curves.

    A draw counts in proportion to the labels there were: older ones judged models that were worse.
    """
    times, place = np.unique(np.round(_time(draws.labels) / STEP), return_inverse=True)
    at = _LEVEL + _RISE * (STEP * times - origin)[:, None]
    kinds = np.zeros((len(draws) + 1, 2 * len(times)))
    kinds[np.arange(1, len(draws) + 1), place + len(times) * (draws.right < 0.5)] = draws.share * (draws.labels + FIRST)
    counts = np.cumsum(kinds, axis=0)[ends] / (labels + FIRST)[:, None]
    return np.asarray(counts @ np.vstack([log_expit(at), log_expit(-at)]))


def _time(labels: Indices | float) -> Floats:
    return np.asarray(np.log((np.asarray(labels, dtype=np.float64) + FIRST) / MIDDLE))


@dataclass(frozen=True, eq=False)
class Curves:
    """Learning curves, log odds of being right that rise with the logarithm of the labels, and how likely each is."""

    n_labels: int
    origin: float  # where curves have the log odds that they are numbered by
    weights: Floats  # of the curves of the grid; they sum to 1

    @classmethod
    def after(cls, draws: Draws, n_labels: int, stated: float | None = None) -> "Curves":
        """By the draws, and by what the model says of itself, which is the nearer to the truth the more labels."""
        origin, prior = 0.0, _AT_MIDDLE
        if stated is not None:
            trust = max(MOST_TRUST, TRUST * min(1.0, np.sqrt(TRUST_FROM / max(n_labels, 1))))
            origin, prior = float(_time(n_labels)), -0.5 * ((_LEVEL - logit(np.clip(stated, 0.01, 0.99))) / trust) ** 2
        logs = prior + _RISES + _log_likelihoods(draws, np.array([len(draws)]), np.array([n_labels]), origin)[0]
        weights = np.exp(logs - logs.max())
        return cls(n_labels, origin, weights / weights.sum())

    def accuracy(self, more: int) -> float:
        """Expected after so many more labels."""
        return float(self.weights @ expit(_LEVEL + _RISE * (_time(self.n_labels + more) - self.origin)))

    def chance(self, target: float) -> float:
        """That the accuracy of today is the target, or more."""
        now = _LEVEL + _RISE * (_time(self.n_labels) - self.origin)
        return float(self.weights[now >= logit(target)].sum())

    def advises_stop(self, draws: Draws, target: float) -> bool:
        """Whether that is likely enough, and the draws since half of today's labels do not speak against it.

        They do if no more than so many would be right by chance, seldom, were the target met: so a model that is far
        too sure of itself does not say stop.
        """
        if len(draws) < ENOUGH or self.chance(target) < SURE:
            return False
        late = draws.right[2 * draws.labels >= self.n_labels]
        return bool(bdtr(late.sum(), len(late), target) >= SELDOM)
