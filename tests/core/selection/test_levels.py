import numpy as np
import pytest

from core import GPHIKClassifier, OnlineLearner, Settings
from core.learner.record import Labelling
from core.selection import levels
from core.selection.levels import choose_levels, level_loss, pays
from tests.core.data import continuous, word_counts


@pytest.mark.jit
def test_level_space_pays_from_some_thousands_of_rows_on():
    assert [pays(np.ones((n, 20)), 3) for n in (200, 2000, 20_000)] == [False, False, True]


@pytest.mark.jit
@pytest.mark.parametrize(("lost", "rule"), [(True, "auto"), (False, "few")])
def test_few_levels_only_where_nothing_is_lost(monkeypatch, lost, rule):
    monkeypatch.setattr(levels, "pays", lambda *_: True)
    monkeypatch.setattr("core.histograms.quantise.FEW_LEVELS", 8 if lost else 2300)
    monkeypatch.setattr("core.histograms.quantise.MIN_LEVELS", 1)
    x = continuous(300, 4, density=1.0)
    y = (np.sin(25.0 * x[:, 0]) > 0).astype(int)  # of fine steps of one column
    found, loss = choose_levels(Settings(complement=True), x, y, 2)
    assert found == rule
    assert loss.is_sure == lost
    assert "with few levels" in str(loss)


def test_the_rule_of_the_settings_stays_where_it_is_one():
    x, y = word_counts(30, 5, 2)
    assert choose_levels(Settings(levels=7), x, y, 2) == (7, None)
    assert choose_levels(Settings(posterior="levels"), x, y, 2) == ("few", None)
    assert choose_levels(Settings(), x, y, 2) == ("auto", None)
    assert choose_levels(Settings(kernel="rbf"), x, y, 2) == ("auto", None)


def test_nothing_is_lost_where_few_levels_are_all():
    x, y = word_counts(60, 5, 2)
    assert level_loss(Settings(), x, y, 2) is None


@pytest.mark.jit
def test_a_training_codes_a_pool_again(monkeypatch):
    """Once few, always few: a rebuilt learner has the levels that it had."""
    monkeypatch.setattr(levels, "pays", lambda *_: True)
    monkeypatch.setattr("core.histograms.quantise.FEW_LEVELS", 60)
    x, y = word_counts(80, 5, 2)
    labelling = Labelling(["a", "b"], {i: "ab"[y[i]] for i in range(60)})
    learner = OnlineLearner.build(Settings(), x, labelling, train=True)
    assert learner.labelling().parameters.levels == "few"
    assert len(learner._model.operator.levels) <= 60
    again = OnlineLearner.build(Settings(), x, learner.labelling())
    assert np.allclose(again.mean, learner.mean, atol=1e-8)
    restored = OnlineLearner.load(Settings(), learner.dump())
    assert restored.labelling().parameters.levels == "few"


@pytest.mark.jit
def test_the_estimator_says_what_few_levels_would_cost(monkeypatch):
    monkeypatch.setattr(levels, "pays", lambda *_: True)
    monkeypatch.setattr("core.histograms.quantise.FEW_LEVELS", 40)
    x, y = word_counts(60, 5, 2)
    model = GPHIKClassifier().fit(x, y)
    assert model.level_loss_ is not None
    assert GPHIKClassifier(levels=5).fit(x, y).level_loss_ is None
