"""Finding all items of a wanted class: how many have been found, how many are left, and when it is safe to stop."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from core._types import Floats, Indices
from core.checks import check_number, check_share, check_whole

Bools = NDArray[np.bool_]

MAX_POINTS = 60  # of a recall curve
ROUNDING = 1e-9  # of a number of items
BALANCE = 100.0  # the total weight of wanted labels, where that of the others is 1
ENOUGH = 50  # labels, before the model is asked how many are left
STEP = 4.0  # by which weights grow


@dataclass(frozen=True)
class StopRule:
    """When a search is over, and how it gets there.

    The most probable items are asked about until `patience` labels in a row find nothing; then items are drawn at
    random until one is wanted, or until it is known that a share `target` has been found, wrong with probability `risk`
    at most.

    >>> StopRule(patience=2).is_dry(Search(np.array([True, False, False]), np.zeros(3, dtype=bool), 9))
    True
    """

    target: float = 0.95
    risk: float = 0.05
    patience: int = 50

    def __post_init__(self) -> None:
        for name in ("target", "risk"):
            if not check_share(name, getattr(self, name)) > 0.0:
                raise ValueError(f"{name} must be above 0")
        check_whole("patience", self.patience, least=1)

    def is_dry(self, search: "Search") -> bool:
        """Whether it is time to draw at random."""
        return search.idle >= self.patience

    def is_met(self, search: "Search") -> bool:
        """Whether the search is over."""
        return search.left == 0 or search.risk(self.target) < self.risk


@dataclass(frozen=True, eq=False)
class Search:
    """The n labels of a search so far, in the order they were given.

    What can be said of recall for sure comes from items drawn at random among all that had no label (Callaghan2020).
    If `total` items are wanted, a draw at which f of them are found and u items have no label finds nothing with
    probability 1 - (total - f) / u. The product over a run of draws without a find is the hypergeometric chance of such
    a run; it falls below a bound b, at whatever moment somebody looks, with probability at most b (Ville's inequality,
    as its inverse is a martingale). A find ends a run. Run j may spend the share 2^-(j + 1) of the risk, all runs
    together therefore the whole, however often one looks, and whatever was labelled in between for other reasons.

    >>> search = Search(np.array([True] * 20 + [False] * 90), np.arange(110) >= 20, items=160)
    >>> search.found, round(search.risk(0.8), 4), round(search.lowest_recall(0.05), 3)
    (20, 0.0034, 0.87)
    """

    wanted: Bools  # n
    drawn: Bools  # n; at random among all items without a label
    items: int  # with a label or without

    @property
    def found(self) -> int:
        """Wanted items with a label."""
        return int(self.wanted.sum())

    @property
    def left(self) -> int:
        """Items without a label."""
        return self.items - len(self.wanted)

    @property
    def idle(self) -> int:
        """Labels since the last wanted item."""
        places = np.flatnonzero(self.wanted)
        return len(self.wanted) - (int(places[-1]) + 1 if len(places) else 0)

    @property
    def curve(self) -> list[tuple[int, int]]:
        """Wanted items found after so many labels, at not too many points."""
        n = len(self.wanted)
        labels = np.unique(np.linspace(0, n, min(n + 1, MAX_POINTS)).astype(np.int64))
        found = np.concatenate([[0], np.cumsum(self.wanted)])[labels]
        return list(zip(labels.tolist(), found.tolist(), strict=True))

    def risk(self, target: float) -> float:
        """A bound on the probability that the draws would look like this if less than `target` had been found.

        Who stops as soon as it is below some risk has missed the target with at most that probability.
        """
        return self.chance(_too_many(self.found, target))

    def chance(self, total: int) -> float:
        """A bound on the probability of such runs of draws, at any look, if `total` items or more are wanted."""
        if total > self.found + self.left:
            return 0.0
        runs, _ = self._runs(total)
        return float(min(1.0, np.exp(runs.min())))

    def lowest_recall(self, risk: float) -> float:
        """The share of the wanted items that has been found at least, wrong with probability `risk` at most."""
        low, high = self.found, self.found + self.left + 1  # the smallest total that is excluded is above low
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.chance(middle) < risk else (middle, high)
        return self.found / low if low else 1.0

    def draws_needed(self, target: float, risk: float) -> int:
        """How many more items drawn at random, none of them wanted, are enough to stop."""
        total = _too_many(self.found, target)
        missing = total - self.found
        if self.risk(target) < risk or missing > self.left:
            return 0
        runs, now = self._runs(total)
        shares = np.minimum(missing / (self.left - np.arange(self.left - missing + 1)), 1.0)
        with np.errstate(divide="ignore"):
            enough = runs[now] + np.cumsum(np.log1p(-shares)) < np.log(risk)
        return int(np.argmax(enough)) + 1

    def _runs(self, total: int) -> tuple[Floats, int]:
        """The logarithm of the chance of each run of draws, divided by its share of the risk; the place of the last."""
        places = np.flatnonzero(self.drawn)
        hits = self.wanted[places]
        known: Indices = (np.cumsum(self.wanted) - self.wanted)[places]  # wanted items found before each draw
        shares = np.minimum((total - known) / (self.items - places), 1.0)
        with np.errstate(divide="ignore"):
            logs = np.where(hits, 0.0, np.log1p(-shares))
        n_runs = int(hits.sum()) + 1
        sums = np.bincount(np.cumsum(hits) - hits, logs, minlength=n_runs)
        return np.asarray(sums + np.log(2.0) * np.arange(1, n_runs + 1)), n_runs - 1


def expected_left(known: Floats, wanted: Bools, scores: Floats) -> float | None:
    """How many wanted items there are among those with these scores, as the model thinks; None before it can tell.

    The probability of an item is a logistic function of its score (Platt2000), learnt from the scores that other labels
    give each labelled item, `known`, and whether it is wanted: so it does not matter which items were asked about, nor
    how labels are weighted.

    >>> known = np.linspace(-1.0, 1.0, 100)
    >>> round(expected_left(known, known > 0.5, np.array([1.0, 0.9, -0.8])), 1)
    2.0
    """
    n = int(wanted.sum())
    if len(wanted) < ENOUGH or not 0 < n < len(wanted):
        return None
    centre, spread = known.mean(), float(known.std()) or 1.0
    x, target = (known - centre) / spread, np.where(wanted, (n + 1.0) / (n + 2.0), 1.0 / (len(wanted) - n + 2.0))

    def loss(line: Floats) -> tuple[float, Floats]:
        z = line[0] + line[1] * x
        off = expit(z) - target
        return float((np.logaddexp(0.0, z) - target * z).sum()), np.array([off.sum(), (off * x).sum()])

    found = minimize(loss, [np.log(n / (len(wanted) - n)), 1.0], jac=True, bounds=[(None, None), (0.0, None)])
    return float(expit(found.x[0] + found.x[1] * (scores - centre) / spread).sum())


def weight_of_wanted(found: int, others: int) -> float:
    """The weight of a wanted label: so that all of them have about a hundred times that of all others together.

    A power of 4, so that it seldom changes.

    >>> weight_of_wanted(5, 5), weight_of_wanted(5, 200), weight_of_wanted(0, 3)
    (64.0, 4096.0, 1.0)
    """
    ratio = max(BALANCE * others / found, 1.0) if found else 1.0
    return float(STEP ** np.round(np.log(ratio) / np.log(STEP)))


def _too_many(found: int, target: float) -> int:
    """The smallest number of wanted items of which those found are less than `target`."""
    return int(np.floor(found / check_number("target", target, positive=True) + ROUNDING)) + 1
