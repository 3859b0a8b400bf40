import numpy as np
import pytest

from core import OnlineLearner, Settings
from core.queries import STRATEGIES, pick, picking
from core.questions import pool_state
from tests.core.data import word_counts

NAMES = ["ant", "bee", "cat"]


def pool(n_labels):
    x, y = word_counts(60, 8, 3)
    learner = OnlineLearner(Settings(), NAMES)
    learner.add_items(x)
    learner.label_many({item: NAMES[y[item]] for item in range(n_labels)})
    return learner


def picked_from_all(learner, strategy, count, pending):
    labelled = learner._labelled
    free = np.setdiff1d(np.arange(len(labelled)), [*labelled.learnt, *pending])
    return pick(pool_state(labelled, free), strategy, count, seed=3, pending=pending)


def check(found, expected):
    assert [one.row for one in found] == [one.row for one in expected]
    assert [one.score for one in found] == pytest.approx([one.score for one in expected], abs=1e-9)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_pool_in_parts_is_asked_as_the_whole(strategy):
    learner, pending = pool(9), np.array([20, 41])
    expected = picked_from_all(learner, strategy, 4, pending)
    check(learner.query(4, strategy, seed=3, pending=pending), expected)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_first_look_finds_the_best_item(strategy, monkeypatch):
    learner = pool(9)
    expected = picked_from_all(learner, strategy, 1, np.empty(0, dtype=np.int64))
    monkeypatch.setattr(picking, "CANDIDATES", 1)
    monkeypatch.setattr(picking, "PER_PICK", 1)
    check(learner.query(1, strategy, seed=3), expected)


def test_before_two_classes_are_known_questions_stand_for_the_pool():
    learner, pending = pool(0), np.array([20, 41])
    check(learner.query(4, "unc", seed=3, pending=pending), picked_from_all(learner, "herding", 4, pending))
