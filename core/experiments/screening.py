"""Labelled data played as a search for all items of one class, to its end or to where a rule stops it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from core._types import Indices
from core.insight.finding import Bools, Search, StopRule, weight_of_wanted
from core.learner import OnlineLearner
from core.settings import Settings

CLASSES = OTHER, WANTED = "other", "wanted"
RETRAIN = 1.5  # growth of the labels from one training to the next, as the service has it


@dataclass(frozen=True, eq=False)
class Screening:
    """A search that was played: how it began, and its labels in their order."""

    search: Search
    given: int  # labels that it began with, which count for nothing
    wanted: int  # items there are to be found, those it began with included

    @property
    def flags(self) -> Bools:
        """Whether each label found something, without those given; what was never asked about comes last."""
        asked = self.search.wanted[self.given :]
        rest = np.zeros(self.search.left, dtype=bool)
        rest[: self.wanted - self.search.found] = True
        return np.concatenate([asked, rest[::-1]])

    @property
    def recall(self) -> float:
        """The share of the wanted items that was found."""
        return self.search.found / self.wanted

    @property
    def labelled(self) -> float:
        """The share of the items that was labelled."""
        return len(self.search.wanted) / self.search.items


def loss(flags: Bools) -> float:
    """The area between the recall curve and the best possible one; 0 is perfect, random order has 0.5 on average.

    >>> loss(np.array([True, True, False, False])), loss(np.array([False, True, False, True]))
    (0.0, 0.75)
    """
    n, r = len(flags), int(flags.sum())
    return float((r * (n - (r - 1) / 2) - np.cumsum(flags).sum()) / (r * (n - r)))


def recall_at(flags: Bools, share: float) -> float:
    """The share of the wanted items that is among the first ones.

    >>> recall_at(np.array([True, False, False, True]), 0.5)
    0.5
    """
    return float(flags[: round(share * len(flags))].sum() / flags.sum())


def work_saved(flags: Bools, recall: float = 0.95) -> float:
    """Work saved over sampling (WSS): the share not looked at when so much is found, less what chance would save.

    >>> round(work_saved(np.array([True, True, False, False, False]), 0.5), 2)
    0.3
    """
    needed = int(np.ceil(recall * flags.sum() - 1e-9))
    labels = int(np.flatnonzero(np.cumsum(flags) >= needed)[0]) + 1
    return float(recall - labels / len(flags))


def screen(
    x: Any,
    wanted: Bools,
    given: Indices,
    *,
    settings: Settings,
    rule: StopRule | None = None,
    batch: float = 0.0,
    seed: int = 0,
) -> Screening:
    """Begin with the labels `given`, then ask, answer and learn.

    Without a rule the most probable items are asked about until all is found, with one until it says stop. A step asks
    for one item, or for a share `batch` of the labels there are, which takes less time to simulate.

    >>> x = np.random.default_rng(0).random((60, 2)); wanted = x[:, 0] > 0.8
    >>> given = np.array([np.argmax(wanted), np.argmin(wanted)])
    >>> screen(x, wanted, given, settings=Settings(complement=True)).recall
    1.0
    """
    learner = OnlineLearner(settings, CLASSES)
    learner.add_items(x)
    lots = np.random.default_rng(seed).permutation(len(wanted)).tolist()  # the order of a random sample
    order, drawn, learnt, trained = given.tolist(), [False] * len(given), 0, 0
    while len(order) < len(wanted):
        search = Search(wanted[order], np.array(drawn), len(wanted))
        if rule.is_met(search) if rule else search.found == wanted.sum():
            break
        dry = rule is not None and rule.is_dry(search)
        if dry:  # what is drawn at random is learnt when the model is asked again
            known = set(order)
            items = [next(item for item in lots if item not in known)]
        else:
            _learn(learner, wanted, np.array(order[learnt:]))
            learnt = len(order)
            if learnt >= RETRAIN * trained:
                learner.tune()
                trained = learnt
            count = max(1, int(batch * learnt))
            if rule:
                count = min(count, rule.patience - search.idle)  # a step must not go on after the search has run dry
            picks = learner.query(count, "likely", seed=seed, wanted=WANTED)
            items = [pick.row for pick in picks]
        drawn += [dry] * len(items)
        order += items
    return Screening(Search(wanted[order], np.array(drawn), len(wanted)), len(given), int(wanted.sum()))


def _learn(learner: OnlineLearner, wanted: Bools, items: Indices) -> None:
    """New labels, and the weight that all wanted ones should have now."""
    labels = {int(item): WANTED if wanted[item] else OTHER for item in items}
    labelled = np.flatnonzero(learner.labels >= 0)
    found = int(wanted[labelled].sum() + wanted[items].sum())
    factor = 1.0 / weight_of_wanted(found, len(labelled) + len(items) - found)
    learner.label_many(labels, {item: factor for item, name in labels.items() if name == WANTED})
    for item in labelled[wanted[labelled]].tolist():
        if learner.label_of(item) != (WANTED, factor):
            learner.label(item, WANTED, noise_factor=factor)
