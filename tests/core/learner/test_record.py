import numpy as np
import pytest

from core.classes import ClassTree
from core.insight.track_record import Draw, TrackRecord
from core.probabilities import most_probable

FLAT = ClassTree.flat(3)


def predicted(items):
    return np.zeros(5 if items is None else len(items), dtype=np.int64)


@pytest.mark.parametrize(
    ("n_labels", "more", "compared"),
    [(0, 1, True), (1, 19, False), (15, 5, False), (15, 6, True), (20, 1, True), (21, 19, False), (3, 30, True)],
)
def test_predictions_are_compared_at_every_twentieth_label(n_labels, more, compared):
    record = TrackRecord(guesses=np.array([1]), later_guesses=np.array([2]))
    numbers = dict.fromkeys(range(more), 0)
    found = record.before_labels(numbers, predicted, n_labels, 9, (), FLAT)
    expected = ([2], [0] * 5) if compared else ([1], [2])
    assert (found.guesses.tolist(), found.later_guesses.tolist()) == expected


def test_only_items_drawn_at_random_tell_how_well_classes_were_predicted():
    record = TrackRecord({9: Draw(0, 1, 20)}).before_labels({3: 0, 4: 0, 5: 2, 9: 0}, predicted, 7, 30, {3, 5, 9}, FLAT)
    assert list(record.draws.items()) == [(9, Draw(0, 1, 20)), (3, Draw(1, 7, 30)), (5, Draw(0, 7, 30))]
    assert TrackRecord().before_labels({3: 0}, None, 1, 9, {3}, FLAT).draws == {}


def test_of_equally_probable_classes_the_one_with_the_larger_mean():
    probabilities = np.array([[0.4, 0.4, 0.2], [0.2, 0.3, 0.5]])
    means = np.array([[-0.3, -0.2, 0.1], [0.9, 0.1, 0.0]])
    assert most_probable(probabilities, means).tolist() == [1, 2]
    assert most_probable(np.empty((0, 3)), np.empty((0, 3))).tolist() == []
