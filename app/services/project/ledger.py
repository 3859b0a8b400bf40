"""Who answered what: a pure function of the label events."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Literal

Kind = Literal["label", "relabel", "retract", "skip", "unsure", "comment"]
LABELS = ("label", "relabel")


@dataclass(frozen=True)
class Event:
    """One row of the log: somebody's answer on an item."""

    sequence: int
    item: int
    annotator: str
    kind: Kind
    class_number: int | None = None
    predicted: int | None = None  # what the model thought before
    drawn: bool = False  # at random
    asked: bool = False  # by the service; not so labels of a file
    undoes: int | None = None
    actor: str | None = None  # who wrote it, if that was somebody else
    created_at: float = 0.0

    @classmethod
    def of(cls, row: Any) -> "Event":
        """The event in a row of the table."""
        return cls(
            row.sequence,
            row.item,
            row.key_id,
            row.kind,
            row.class_number,
            row.predicted,
            bool(row.drawn),
            bool(row.asked),
            row.undoes,
            row.actor_id,
            row.created_at,
        )


@dataclass(frozen=True)
class Standing:
    """What somebody's answer on an item is now."""

    kind: Kind  # label, skip or unsure
    class_number: int | None
    sequence: int


@dataclass(frozen=True)
class First:
    """The first label of an item."""

    drawn: bool  # at random
    asked: bool  # by the service
    created_at: float


@dataclass(frozen=True)
class Undoable:
    """An answer that may be undone, and what stood before it."""

    sequence: int
    item: int
    before: Standing | None


@dataclass
class Ledger:
    """Standings after all events so far.

    >>> ledger = Ledger()
    >>> ledger.apply(Event(1, item=7, annotator="ann", kind="label", class_number=0))
    >>> ledger.apply(Event(2, item=7, annotator="bob", kind="skip"))
    >>> ledger.votes(7), ledger.answered("bob")
    ({'ann': 0}, [7])
    """

    sequence: int = 0
    standings: dict[int, dict[str, Standing]] = field(default_factory=dict)
    firsts: dict[int, First] = field(default_factory=dict)  # of each item that ever had a label, in their order
    predicted: dict[int, tuple[int, int]] = field(
        default_factory=dict
    )  # of items drawn at random, in their order: the class, and how many items had got a label before
    _answered: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    _done: dict[str, list[Undoable]] = field(
        default_factory=lambda: defaultdict(list)
    )  # in the order of their sequences

    def apply(self, event: Event) -> None:
        """The next event of the log."""
        self.sequence = event.sequence
        if event.kind == "comment":
            return
        answers = self.standings.setdefault(event.item, {})
        mine = self._answered[event.annotator]
        done = self._done[event.annotator]
        undone = _pop(done, event.undoes) if event.undoes is not None else None
        before = answers.get(event.annotator)
        if undone is not None and undone.before is not None:
            answers[event.annotator] = undone.before  # in its old place among the votes
        elif event.kind in LABELS:
            if event.item not in self.firsts:
                if event.drawn and event.predicted is not None:
                    self.predicted[event.item] = event.predicted, len(self.firsts)
                self.firsts[event.item] = First(event.drawn, event.asked, event.created_at)
            answers[event.annotator] = Standing("label", event.class_number, event.sequence)
        elif event.kind in {"skip", "unsure"}:
            answers[event.annotator] = Standing(event.kind, None, event.sequence)
        else:
            answers.pop(event.annotator, None)
        (mine.add if event.annotator in answers else mine.discard)(event.item)
        if undone is None and event.actor in (None, event.annotator):
            done.append(Undoable(event.sequence, event.item, before))

    def standing(self, item: int, annotator: str) -> Standing | None:
        """What this person's answer on this item is now."""
        return self.standings.get(item, {}).get(annotator)

    def answered(self, annotator: str) -> list[int]:
        """Items that this person need not be asked about again."""
        return list(self._answered.get(annotator, ()))

    def skipped(self, annotator: str, until: int) -> list[int]:
        """Items that this person skipped, up to an event of this sequence."""
        standings = ((item, self.standings[item][annotator]) for item in self.answered(annotator))
        return [item for item, own in standings if own.kind == "skip" and own.sequence <= until]

    def votes(self, item: int) -> dict[str, int]:
        """The class each person chose, in the order they chose it."""
        labels = [(who, s) for who, s in self.standings.get(item, {}).items() if s.class_number is not None]
        return {who: s.class_number for who, s in sorted(labels, key=lambda entry: entry[1].sequence)}  # type: ignore[misc]

    def is_unsure(self, item: int) -> bool:
        """Whether somebody could not tell, and nobody could."""
        answers = self.standings.get(item, {}).values()
        return any(s.kind == "unsure" for s in answers) and not any(s.kind == "label" for s in answers)

    def last_undoable(self, annotator: str) -> Undoable | None:
        """What this person would undo."""
        done = self._done.get(annotator)
        return done[-1] if done else None


def _pop(done: list[Undoable], sequence: int) -> Undoable | None:
    """Remove an answer, usually the last one, if it is there."""
    place = bisect_left(done, sequence, key=lambda entry: entry.sequence)
    return done.pop(place) if place < len(done) and done[place].sequence == sequence else None


def consensus(votes: Mapping[str, int], rule: str) -> tuple[int, float] | None:
    """The class that the model learns from people's votes (in the order they were cast), and how much to doubt it.

    The noise grows with the share of votes for other classes.

    >>> consensus({"ann": 0, "bob": 1, "eve": 1}, "majority")
    (1, 1.5)
    >>> consensus({"ann": 0, "bob": 1}, "agreed") is None
    True
    """
    if not votes:
        return None
    counts, cast = Counter(votes.values()), list(votes.values())
    if rule == "agreed" and len(counts) > 1:
        return None
    last = {number: place for place, number in enumerate(cast)}
    best = cast[-1] if rule == "latest" else max(counts, key=lambda number: (counts[number], last[number]))
    return best, len(cast) / counts[best]


def agreement(votes: Iterable[Mapping[str, int]]) -> tuple[int, float | None, float | None]:
    """Items with several votes, the share of equal pairs among them, and Krippendorff's alpha for classes.

    >>> agreement([{"ann": 0, "bob": 0}, {"ann": 1, "bob": 1}, {"ann": 0, "bob": 1}, {"ann": 1}])
    (3, 0.6666666666666666, 0.4444444444444444)
    """
    several = [list(cast.values()) for cast in votes if len(cast) > 1]
    if not several:
        return 0, None, None
    pairs = equal = 0
    coincidence: Counter[int] = Counter()
    disagreement = 0.0
    for cast in several:
        coincidence.update(cast)
        unequal = sum(a != b for a, b in combinations(cast, 2))
        count = len(cast) * (len(cast) - 1) // 2
        pairs, equal = pairs + count, equal + count - unequal
        disagreement += 2 * unequal / (len(cast) - 1)
    n = coincidence.total()
    expected = (n * n - sum(c * c for c in coincidence.values())) / (n - 1)
    alpha = 1.0 - disagreement / expected if expected else 1.0
    return len(several), equal / pairs, alpha
