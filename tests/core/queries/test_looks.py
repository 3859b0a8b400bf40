"""One look at a pool serves all who ask before it changes: they are answered as if each had looked."""

import numpy as np
import pytest

from core import OnlineLearner, Settings
from core.queries import STRATEGIES, Ask, FirstLook, Looks, Near, looks, picking
from tests.core.data import word_counts

NAMES = ["ant", "bee", "cat"]
N = 200
LASTING = sorted(name for name, strategy in STRATEGIES.items() if strategy.lasts)


@pytest.fixture(autouse=True)
def few_candidates(monkeypatch):
    """Of a small pool, in blocks that are smaller still."""
    monkeypatch.setattr(picking, "CANDIDATES", 4)
    monkeypatch.setattr(picking, "SHORTLIST", 4)
    monkeypatch.setattr(picking, "PER_PICK", 1)
    monkeypatch.setattr(looks, "SPARE", 12)
    monkeypatch.setattr("core.queries.parts.LOOK_ROWS", 16)


@pytest.fixture
def looked(monkeypatch):
    """What was looked for, each time that somebody looked."""
    seen, look = [], FirstLook.__call__

    def noted(self, *given):
        seen.append(self.ask)
        return look(self, *given)

    monkeypatch.setattr(FirstLook, "__call__", noted)
    return seen


def pool(n_labels=9, distinct=N):
    x, y = word_counts(N, 8, 3)
    learner = OnlineLearner(Settings(), NAMES)
    learner.add_items(x[np.arange(N) % distinct])
    learner.label_many({item: NAMES[y[item]] for item in range(n_labels)})
    return learner


def asked(learner, rng, strategy):
    """A question as one of several people may ask it: with others' items pending, and some of their own left out."""
    left = rng.permutation(N)[: rng.integers(5, N)]
    return {
        "count": int(rng.integers(1, 5)),
        "strategy": strategy,
        "seed": int(rng.integers(100)),
        "explore": float(rng.choice([0.0, 0.0, 0.3])),
        "pending": rng.permutation(N)[: rng.integers(4)],
        "among": None if rng.random() < 0.5 else left,
        "wanted": "cat",
    }


@pytest.mark.parametrize("distinct", [N, 5], ids=["apart", "with many ties"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_questions_are_those_without_a_memory(strategy, distinct):
    learner, rng = pool(distinct=distinct), np.random.default_rng(0)
    for step in range(12):
        question = asked(learner, rng, strategy)
        found = learner.query(**question)
        learner._looks = Looks()
        assert learner.query(**question) == found
        if step % 5 == 4:
            learner.label(found[0].row, "ant")


@pytest.mark.parametrize("strategy", LASTING)
def test_many_who_ask_cost_one_look(strategy, looked):
    learner, pending = pool(), np.empty(0, dtype=np.int64)
    for seed in range(8):
        (found,) = learner.query(1, strategy, seed=seed, pending=pending, wanted="cat")
        pending = np.append(pending, found.row)
    assert len(looked) == 1
    learner.label(int(pending[0]), "bee")
    learner.query(1, strategy, wanted="cat")
    assert len(looked) == 2


def test_a_change_of_any_kind_is_looked_at_again(looked):
    learner = pool()
    changes = [
        lambda: learner.label(20, "ant"),
        lambda: learner.label(20, "bee"),
        lambda: learner.retract(20),
        lambda: learner.add_classes(["dog"]),
        lambda: learner.add_items(word_counts(5, 8, 3, seed=7)[0]),
        learner.tune,
    ]
    learner.query(1, "unc")
    for n, change in enumerate(changes, 2):
        change()
        learner.query(1, "unc")
        assert len(looked) == n
        learner.query(1, "unc", seed=1)
        assert len(looked) == n


def test_items_that_were_not_looked_at_are_not_forgotten():
    parts, memory, every = pool()._model.parts, Looks(), np.ones(N, dtype=bool)
    even = np.arange(N) % 2 == 0
    for free in (even, ~even, every):
        found, expected = (m.candidates(parts, Ask("unc"), 0.1, Near, free, free) for m in (memory, Looks()))
        assert found.rows.tolist() == expected.rows.tolist()


def test_a_look_by_another_strategy_or_for_another_class_does_not_serve(looked):
    learner = pool()
    for question in (("unc", None), ("variance", None), ("likely", "cat"), ("likely", "ant")):
        learner.query(1, question[0], wanted=question[1])
    assert len(looked) == 4


def test_a_question_about_few_items_looks_at_these(looked):
    """They may be none of the best, and others are not scored for nothing."""
    learner = pool()
    (found,) = learner.query(1, "unc", among=np.arange(50, 60))
    assert 50 <= found.row < 60
    assert [ask.spare for ask in looked] == [0]


def test_what_is_drawn_at_random_is_drawn_among_all(looked):
    learner = pool()
    learner.query(1, "unc")
    drawn = {learner.query(1, "unc", seed=seed, explore=1.0)[0].row for seed in range(40)}
    assert len(drawn) > 25
    assert len(looked) == 41
