from dataclasses import replace

import numpy as np
import pytest

from core import OnlineLearner, Settings
from core.queries import STRATEGIES, pick, picking
from core.queries.ask import reference_of
from tests.core.data import word_counts

NAMES = ["ant", "bee", "cat"]


def pool(n_labels):
    x, y = word_counts(60, 8, 3)
    learner = OnlineLearner(Settings(), NAMES)
    learner.add_items(x)
    learner.label_many({item: NAMES[y[item]] for item in range(n_labels)})
    return learner


@pytest.fixture(autouse=True)
def first_labels(monkeypatch):
    """No strategy hands over to another."""
    monkeypatch.setattr("core.learner.learner.predict_each_other", lambda *_: False)


def picked_from_all(learner, strategy, count, pending):
    labelled = learner._model
    free = np.setdiff1d(np.arange(len(labelled)), [*labelled.labelled_items, *pending])
    state = replace(labelled.state(free, reference_of(len(labelled))), wanted=np.array([2]))
    return pick(state, strategy, count, seed=3, pending=pending)


def check(found, expected):
    assert [one.row for one in found] == [one.row for one in expected]
    assert [one.score for one in found] == pytest.approx([one.score for one in expected], abs=1e-9)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_pool_in_parts_is_asked_as_the_whole(strategy):
    learner, pending = pool(9), np.array([20, 41])
    expected = picked_from_all(learner, strategy, 4, pending)
    check(learner.query(4, strategy, seed=3, pending=pending, wanted="cat"), expected)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_first_look_finds_the_best_item(strategy, monkeypatch):
    learner = pool(9)
    expected = picked_from_all(learner, strategy, 1, np.empty(0, dtype=np.int64))
    monkeypatch.setattr(picking, "CANDIDATES", 1)
    monkeypatch.setattr(picking, "PER_PICK", 1)
    check(learner.query(1, strategy, seed=3, wanted="cat"), expected)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("n_among", [50, 9])  # most of a block, which is scored as a whole, or some of it
def test_the_choice_may_be_among_some_items(strategy, n_among, monkeypatch):
    monkeypatch.setattr("core.queries.parts.LOOK_ROWS", 16)
    learner, among = pool(9), np.random.default_rng(0).permutation(np.arange(9, 60))[:n_among]
    state = replace(learner._model.state(np.sort(among), reference_of(60)), wanted=np.array([2]))
    check(learner.query(3, strategy, seed=3, among=among, wanted="cat"), pick(state, strategy, 3, seed=3))


@pytest.mark.parametrize("count", [1, 7, 40])
@pytest.mark.parametrize("values", [2, 30, 10**9])
def test_the_lowest_are_found_with_all_that_equal_the_last_of_them(values, count):
    scores = np.random.default_rng(0).integers(0, values, 3000).astype(np.float64)
    assert (
        picking._among_lowest(scores, count).tolist() == np.flatnonzero(scores <= np.sort(scores)[count - 1]).tolist()
    )


def test_before_two_classes_are_known_questions_stand_for_the_pool():
    learner, pending = pool(0), np.array([20, 41])
    check(learner.query(4, "unc", seed=3, pending=pending), picked_from_all(learner, "herding", 4, pending))


@pytest.mark.parametrize("settings", [{}, {"likelihood": "softmax"}, {"model": "forest"}, {"kernel": "rbf"}])
def test_questions_go_by_the_variance_that_was_asked_for(settings):
    x, y = word_counts(60, 8, 3)
    learner = OnlineLearner(Settings(**settings), NAMES)
    learner.add_items(x)
    learner.label_many({item: NAMES[y[item]] for item in range(9)})
    free = np.arange(9, 60)
    for name in learner.variances:
        bound = learner._model.variance_by(name)(learner._model.rows(free))
        found = learner.query(1, "variance", variance=name)[0]
        assert found.row == free[bound.argmax()]
        assert found.score == pytest.approx(-bound.max())
        batch = learner.query(5, "unc+", variance=name, pending=np.array([20]))
        assert len({20, *(one.row for one in batch)}) == 6
    assert learner.query(5, "unc", variance="exact") == learner.query(5, "unc")
    assert learner.query(60, "unc+", variance="fapu") != learner.query(60, "unc+")


def test_a_variance_that_cannot_be_gone_by():
    learner = pool(9)
    with pytest.raises(ValueError, match=r"for the strategies variance, unc, unc\+; eer goes by the exact one"):
        learner.query(1, "eer", variance="fapu")
    with pytest.raises(ValueError, match="variance must be one of"):
        learner.query(1, variance="rough")
    assert learner.query(1, "herding", variance="exact")


@pytest.mark.parametrize("settings", [{}, {"likelihood": "softmax"}, {"model": "forest"}, {"kernel": "rbf"}])
def test_a_learner_of_one_class_asks_for_what_is_most_unlike_its_labels(settings):
    x, _ = word_counts(60, 8, 3)
    learner = OnlineLearner(Settings(**settings), ["odd"])
    learner.add_items(x)
    first = learner.query(1)[0]
    assert first.strategy == "herding"  # there is nothing to be unlike
    learner.label(first.row, "odd")
    for _ in range(4):
        free = np.flatnonzero(learner.labels < 0)
        for strategy in ("unc", "eer", "novelty"):
            found = learner.query(1, strategy)[0]
            assert found.strategy == "novelty"
            assert found.score == pytest.approx(-learner.predictive(x[free]).novelty.max())
        learner.label(learner.query(1)[0].row, "odd")
    for strategy in ("random", "variance", "herding"):
        assert learner.query(1, strategy)[0].strategy == strategy
    assert learner.query(1, "likely", wanted="odd")[0].strategy == "likely"
    learner.add_classes(["other"])  # which has no label, and is what to look for
    assert learner.query(1)[0].strategy == "herding"


def test_one_wanted_label_is_enough_to_look_for_more_like_it():
    learner = pool(0)
    learner.label(7, "cat")
    best = learner.mean[:, 2].copy()
    best[7] = -np.inf
    assert learner.query(1, "likely", wanted="cat")[0].row == best.argmax()
    assert learner.query(1, "likely", wanted="ant")[0].strategy == "herding"


def test_a_wanted_class_may_be_an_inner_node():
    x, y = word_counts(60, 8, 3)
    learner = OnlineLearner(
        Settings(likelihood="softmax"), [*NAMES, "insect"], parents={"ant": "insect", "bee": "insect"}
    )
    learner.add_items(x)
    learner.label_many({item: NAMES[y[item]] for item in range(12)})
    picks = learner.query(3, "likely", wanted="insect")
    p = learner.publish().probabilities[:, [learner.classes.index("ant"), learner.classes.index("bee")]].sum(axis=1)
    p[:12] = -1
    assert [one.row for one in picks] == np.argsort(-p, kind="stable")[:3].tolist()


def test_an_unknown_wanted_class_is_an_error():
    with pytest.raises(ValueError, match="there is no class 'cow'"):
        pool(3).query(1, "likely", wanted="cow")


@pytest.mark.parametrize("noise", [0.1, 1e-12])
def test_many_pending_items_condition_as_one_by_one(noise):
    """At once or one after the other; with next to no noise rounding takes some of the covariance away."""
    learner = pool(20)
    learner._model.reset(learner._model.operator.kernel, noise)
    state = learner._model.state(np.arange(20, 60), reference_of(60))
    at_once, one_by_one = (picking._Batch(state, STRATEGIES["unc"], np.zeros(40), 1) for _ in range(2))
    at_once.condition(np.arange(25, 45))
    for row in range(25, 45):
        one_by_one.condition(np.array([row]))
    assert np.allclose(at_once._state.variance, one_by_one._state.variance, atol=1e-8)
    assert (at_once._state.variance < state.variance).any()


def test_a_covariance_that_rounding_made_indefinite_still_has_a_factor():
    covariance = np.array([[1.0, 1.0 + 1e-9], [1.0 + 1e-9, 1.0]])
    factor = picking._factor(covariance, 1e-12)
    assert np.allclose(factor @ factor.T, covariance, atol=1e-8)
    assert factor[0, 1] == 0.0
