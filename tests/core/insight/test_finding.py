"""The stop rule of a search: against the hypergeometric distribution, published numbers, and in simulation."""

import numpy as np
import pytest
from scipy.stats import hypergeom

from core.insight.finding import Search, StopRule, expected_left, weight_of_wanted


def a_run(found, labelled, draws, items):
    """`found` of `labelled` items, then `draws` at random that find nothing."""
    wanted = np.zeros(labelled + draws, dtype=bool)
    wanted[:found] = True
    return Search(wanted, np.arange(len(wanted)) >= labelled, items)


@pytest.mark.parametrize("case", [(20, 50, 30, 200), (95, 300, 400, 1000), (1, 2, 90, 100)])
@pytest.mark.parametrize("target", [0.8, 0.95])
def test_a_run_without_a_find_is_the_hypergeometric_test(case, target):
    found, labelled, draws, items = case
    # Callaghan2020: K = floor(S / target - A) + 1 wanted items among N; none of n drawn is one.
    search, missing = a_run(found, labelled, draws, items), int(np.floor(found / target - found)) + 1
    p = hypergeom.cdf(0, items - labelled, missing, draws)
    assert search.risk(target) == pytest.approx(min(2 * p, 1.0))  # half the risk is for the runs to come


def test_each_find_ends_a_run_and_halves_the_risk():
    wanted = np.array([1] * 10 + [0] * 40 + [1] + [0] * 60, dtype=bool)
    search = Search(wanted, np.arange(len(wanted)) >= 10, 150)
    total = 14  # 11 of 13 are more than 0.8, 11 of 14 are less
    first, second = hypergeom.cdf(0, 140, total - 10, 40), hypergeom.cdf(0, 99, total - 11, 60)
    assert search.risk(0.8) == pytest.approx(min(1.0, 2 * first, 4 * second))


def test_only_draws_are_evidence():
    search = a_run(10, 20, 60, 100)
    assert Search(search.wanted, np.zeros(80, dtype=bool), 100).risk(0.9) == 1.0
    assert Search(np.ones(0, dtype=bool), np.zeros(0, dtype=bool), 100).risk(0.9) == 1.0


def test_nothing_left_is_certain():
    everything = a_run(3, 50, 0, 50)
    assert everything.risk(1.0) == 0.0
    assert everything.lowest_recall(0.05) == 1.0
    assert everything.draws_needed(0.95, 0.05) == 0


def test_a_target_that_is_met_just_so_is_no_miss():
    search = a_run(19, 19, 0, 20)  # 19 of 20 are 95 %, which floats put a hair above
    assert search.risk(0.95) == 0.0


@pytest.mark.parametrize("target", [0.8, 0.95, 1.0])
def test_draws_needed_are_enough_and_no_fewer_are(target):
    search = a_run(40, 120, 25, 600)
    n = search.draws_needed(target, 0.05)
    assert a_run(40, 120, 25 + n, 600).risk(target) < 0.05 <= a_run(40, 120, 24 + n, 600).risk(target)


def test_lowest_recall_is_where_the_risk_is_met():
    search = a_run(40, 120, 250, 600)
    recall = search.lowest_recall(0.05)
    most = round(40 / recall)
    assert search.chance(most) >= 0.05 > search.chance(most + 1)
    assert search.risk(recall - 1e-6) < 0.05 <= search.risk(recall + 1e-6)


@pytest.mark.parametrize(("items", "wanted", "known"), [(300, 40, 30), (200, 12, 11), (300, 60, 50)])
def test_stopping_at_any_look_misses_the_target_as_rarely_as_promised(items, wanted, known):
    rng, missed, runs, target, risk = np.random.default_rng(0), 0, 400, 0.9, 0.2
    for _ in range(runs):
        pool = np.zeros(items - known, dtype=bool)
        pool[: wanted - known] = True
        labels = np.concatenate([np.ones(known, dtype=bool), rng.permutation(pool)])
        drawn = np.arange(items) >= known
        for n in range(known, items + 1, 3):
            search = Search(labels[:n], drawn[:n], items)
            if search.risk(target) < risk:
                missed += search.found < target * wanted
                break
    assert missed / runs <= risk + 2 * np.sqrt(risk * (1 - risk) / runs)


def test_counts_and_curve():
    search = Search(np.array([True, False, True, False, False]), np.zeros(5, dtype=bool), 9)
    assert (search.found, search.left, search.idle) == (2, 4, 2)
    assert search.curve == [(0, 0), (1, 1), (2, 1), (3, 2), (4, 2), (5, 2)]
    assert len(Search(np.ones(500, dtype=bool), np.zeros(500, dtype=bool), 900).curve) == 60


def test_expected_left_does_not_depend_on_which_items_were_labelled():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=20_000)
    wanted = rng.random(20_000) < 1 / (1 + np.exp(4 - 3 * scores))
    for known in (np.argsort(-scores)[:5000], np.arange(5000)):  # the best, or any
        left = np.setdiff1d(np.arange(20_000), known)
        found = expected_left(scores[known], wanted[known], scores[left])
        assert found == pytest.approx(wanted[left].sum(), rel=0.2)


def test_expected_left_needs_labels_of_both_kinds():
    assert expected_left(np.ones(3), np.ones(3, dtype=bool), np.zeros(2)) is None
    assert expected_left(np.empty(0), np.empty(0, dtype=bool), np.zeros(2)) is None


@pytest.mark.parametrize("wrong", [{"target": 0.0}, {"target": 1.1}, {"risk": 0.0}, {"risk": np.nan}, {"patience": 0}])
def test_a_rule_that_cannot_be_is_an_error(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        StopRule(**wrong)


def test_wanted_labels_have_about_a_hundred_times_the_weight_of_all_others():
    for found, others in ((1, 1), (5, 400), (30, 100)):
        total = weight_of_wanted(found, others) * found / others
        assert 100 / 2 <= total <= 100 * 2
    assert weight_of_wanted(0, 10) == weight_of_wanted(1000, 1) == 1.0
