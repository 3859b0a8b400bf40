"""Dense rows of a pool: single precision where it is exact, and kernel columns that are kept."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from core import Channel, OnlineLearner, Settings, vectors
from core.posterior import PoolPosterior
from core.vectors import Columns, PoolVectors
from tests.core.data import size

M, D = size(300, 40), 5
RNG = np.random.default_rng(0)
NUMBERS = RNG.normal(size=(M, D))
X, V, SCALES = NUMBERS[3:23], RNG.normal(size=(20, 3)), RNG.random(D)
BELLS = np.exp(-((NUMBERS[:, None] - X) ** 2 @ SCALES))


@pytest.fixture(autouse=True)
def few_together(monkeypatch):
    monkeypatch.setattr(vectors, "TOGETHER", 8)


def check(found, expected):
    assert np.allclose(found, expected, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize(("numbers", "kind"), [(NUMBERS, np.float64), (NUMBERS.astype(np.float32), np.float32)])
def test_numbers_are_as_they_came(numbers, kind):
    rows = PoolVectors(numbers.astype(np.float64))
    assert rows.numbers.dtype == kind
    assert np.array_equal(rows.numbers, numbers)
    some = rows[np.array([4, 1])]
    assert some.dtype == np.float64
    assert np.array_equal(some, numbers[[4, 1]])
    for w in (V[:D, :1], V[:D]):
        assert np.allclose(rows.times(w), numbers.astype(np.float64) @ w, rtol=1e-14)


def test_numbers_beyond_single_precision_stay():
    assert PoolVectors(np.array([[1e300]])).numbers.tolist() == [[1e300]]
    assert PoolVectors(np.array([[1e-300]])).numbers.tolist() == [[1e-300]]
    assert PoolVectors(np.empty((0, 2))).times(np.ones((2, 3))).shape == (0, 3)


@pytest.mark.parametrize("limit", [0, 1, 8, 13, 100])
def test_columns_are_the_same_whether_they_are_kept_or_not(limit):
    rows = PoolVectors(NUMBERS, 8 * M * limit)
    for n in (5, 20, 12):  # some come, and some are not asked for any more
        check(rows.bells(SCALES, X[:n], V[:n]), BELLS[:, :n] @ V[:n])
    assert len(rows._columns._place) == min(limit, 20)
    twice = np.concatenate([X, X])
    check(rows.bells(SCALES, twice, np.concatenate([V, V])), 2 * BELLS @ V)


@pytest.mark.parametrize(("n", "columns"), [(0, 3), (0, 0), (5, 0)])
def test_without_labels_or_classes_there_is_nothing_to_add_up(n, columns):
    for rows in (PoolVectors(NUMBERS), PoolVectors(NUMBERS, 800 * M)):
        assert np.array_equal(rows.bells(SCALES, X[:n], np.ones((n, columns))), np.zeros((M, columns)))


def test_what_is_kept_is_not_computed_again(monkeypatch):
    rows = PoolVectors(NUMBERS, 800 * M)
    rows.bells(SCALES, X, V)
    monkeypatch.setattr(vectors, "_bells", None)
    check(rows.bells(SCALES, X[::-1], V), BELLS[:, ::-1] @ V)
    with pytest.raises(TypeError):
        rows.bells(2.0 * SCALES, X, V)  # another kernel


def test_columns_follow_rows_that_come():
    rows = PoolVectors(NUMBERS[:30], 800 * M)
    rows.bells(SCALES, X, V)
    more = rows.concatenate([NUMBERS[30:35], NUMBERS[35:]])
    assert len(rows) == 30
    assert len(more._columns._place) == len(X)
    check(more.bells(SCALES, X, V), BELLS @ V)
    check(rows.bells(SCALES, X, V), BELLS[:30] @ V)
    fresh = PoolVectors(NUMBERS[:30], 800 * M).concatenate([NUMBERS[30:]])
    check(fresh.bells(SCALES, X, V), BELLS @ V)


def test_more_rows_leave_room_for_fewer_columns():
    rows = PoolVectors(NUMBERS[:20], 8 * 20 * 20)
    rows.bells(SCALES, X, V)
    assert len(rows._columns._place) == 20
    more = rows.concatenate([NUMBERS[20:40]])
    assert len(more._columns._place) == more.max_columns == 10
    for _ in range(2):
        check(more.bells(SCALES, X, V), BELLS[:40] @ V)
    assert len(more._columns._place) == 10


def test_rows_that_are_sent_leave_their_columns_behind():
    rows = PoolVectors(NUMBERS, 800 * M)
    rows.bells(SCALES, X, V)
    there = pickle.loads(pickle.dumps(rows))
    assert there._columns is None
    check(there.bells(SCALES, X, V), BELLS @ V)
    assert rows[:] is rows
    assert rows[3:9].max_columns == 0


def test_any_thread_may_ask():
    rows = PoolVectors(NUMBERS, 120 * M)
    orders = [np.random.default_rng(seed).permutation(20) for seed in range(40)]
    with ThreadPoolExecutor(4) as executor:
        found = list(executor.map(lambda order: rows.bells(SCALES, X[order], V[order]), orders))
    for one in found:
        check(one, BELLS @ V)
    assert len(rows._columns._place) == 15


def test_columns_of_other_scales_that_another_thread_asks_for_meanwhile():
    class Shared(PoolVectors):
        @property
        def _columns(self):
            return self.others

        @_columns.setter
        def _columns(self, columns):
            self.others = columns and Columns(NUMBERS, 2.0 * SCALES, 0)

    check(Shared(NUMBERS, 800 * M).bells(SCALES, X, V), BELLS @ V)


def test_a_label_computes_one_column_also_after_a_restart(monkeypatch):
    computed, compute = [], vectors._bells

    def counted(numbers, x, scales):
        computed.append(len(x))
        return compute(numbers, x, scales)

    monkeypatch.setattr(vectors, "_bells", counted)
    settings = Settings(kernel=(Channel(columns=(0, 2), split=True), Channel("rbf", columns=(1, D))))
    learner = OnlineLearner(settings, ["a", "b"])
    learner.add_items(NUMBERS)
    for item in range(12):
        learner.label(item, "ab"[item % 2])
    assert computed == [1] * 12
    again = OnlineLearner.load(settings, learner.dump())
    assert sum(computed) == 24  # those of the restored one, and none for the state
    again.label(12, "a")
    learner.label(12, "a")
    learner.retract(3)
    again.retract(3)
    assert sum(computed) == 26
    fresh = OnlineLearner(settings, ["a", "b"])
    fresh.add_items(NUMBERS)
    fresh.label_many({item: "ab"[item % 2] for item in range(13) if item != 3})
    for one in (learner, again):
        assert np.allclose(one.mean, fresh.mean, atol=1e-10)
        assert np.allclose(one.variance, fresh.variance, atol=1e-10)


def test_a_restart_prepares_nothing_where_no_columns_are_kept(monkeypatch):
    learner = OnlineLearner(Settings(complement=True), ["a", "b"])
    learner.add_items(NUMBERS)
    learner.label_many({0: "a", 1: "b"})
    monkeypatch.delattr(PoolPosterior, "prepare")
    again = OnlineLearner.load(learner.settings, learner.dump())
    check(again.moments(NUMBERS)[0], learner.moments(NUMBERS)[0])
