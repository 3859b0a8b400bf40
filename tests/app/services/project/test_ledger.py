import pytest

from app.services.project.ledger import Event, Ledger


class Counted(int):
    """A number that counts how often it is looked at."""

    looks = 0

    def _look(self):
        Counted.looks += 1
        return int(self)

    def __eq__(self, other):
        return self._look() == other

    def __lt__(self, other):
        return self._look() < other

    def __gt__(self, other):
        return self._look() > other

    __hash__ = int.__hash__


def history(n, undone):
    """Labels of one person, of which the last are undone one after the other."""
    n_labels = n - undone
    for sequence in range(1, n_labels + 1):
        yield Event(Counted(sequence), item=sequence, annotator="ann", kind="label", class_number=0)
    for back in range(undone):
        last = n_labels - back
        yield Event(Counted(n_labels + 1 + back), last, "ann", "retract", undoes=Counted(last))


def looks(n, undone):
    ledger, Counted.looks = Ledger(), 0
    for event in history(n, undone):
        ledger.apply(event)
    assert len(ledger.answered("ann")) == n - 2 * undone
    done = ledger.last_undoable("ann")
    assert (done.sequence if done is not None else 0) == n - 2 * undone
    return Counted.looks


@pytest.mark.parametrize(
    ("large", "share"), [(2000, 0), (2000, 0.5), (200_000, 0.1)], ids=["labels", "half undone", "200,000 events"]
)
def test_a_log_is_read_in_linear_time(large, share):
    few, many = (looks(n, int(n * share)) for n in (large // 2, large))
    assert many <= 1.5 * 2 * few + large, "looks at what was done before"


def test_what_is_undone_need_not_be_the_last():
    ledger = Ledger()
    for sequence in range(1, 6):
        ledger.apply(Event(sequence, item=sequence, annotator="ann", kind="label", class_number=0))
    ledger.apply(Event(6, item=2, annotator="ann", kind="retract", undoes=2))
    ledger.apply(Event(7, item=9, annotator="ann", kind="retract", undoes=77))  # of a log that was cut
    assert ledger.answered("ann") == [1, 3, 4, 5]
    assert ledger.last_undoable("ann").sequence == 7
