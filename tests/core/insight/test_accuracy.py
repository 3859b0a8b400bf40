"""Accuracy by items drawn at random: bounds at every look, weights, and the advice."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom

from core import OnlineLearner, Settings
from core.insight.accuracy import (
    ENOUGH,
    RISK,
    SURE,
    Curves,
    Draws,
    capital,
    is_near,
    judge,
    lowest_accuracy,
    stakes_of,
)
from core.insight.track_record import Draw
from core.queries.draws import random_share
from tests.core.data import size

K = 150
LABELS = np.arange(K) * 4
CURVES = {
    "as good as ever": np.full(K, 0.9),
    "hardly wrong": np.full(K, 0.98),
    "learning": expit(0.5 + np.log((LABELS + 10) / 60)),
    "learning in a leap": np.where(np.arange(K) < 40, 0.55, 0.96),
}


def draws_of(right, labels=LABELS, items=10_000):
    return Draws.of(
        {i: Draw(int(r), int(n), items) for i, (r, n) in enumerate(zip(right, labels, strict=False))},
        np.arange(len(right)),
        items,
    )


@pytest.mark.parametrize("name", CURVES)
def test_the_bound_holds_at_every_look(name):
    """A bound is above the truth where bets against the truth have made 1 / risk of 1."""
    rng, truth, runs = np.random.default_rng(5), CURVES[name], size(400, 100)
    missed = 0
    for _ in range(runs):
        draws = draws_of(rng.random(K) < truth)
        stakes = stakes_of(draws)
        worst = [capital(draws, stakes, value) for value in np.unique(truth)]
        at = np.searchsorted(np.unique(truth), truth)
        missed += bool((np.array(worst)[at, np.arange(K)] >= -np.log(RISK)).any())
    assert missed <= binom.ppf(0.999, runs, RISK)  # if it were more than the risk, hardly so few
    assert truth[-1] - 0.25 < lowest_accuracy(draws_of(rng.random(K) < truth)) < 1.0


def test_the_bound_is_where_the_bets_have_won():
    draws = draws_of(np.arange(60) % 10 > 0)
    low = lowest_accuracy(draws)
    stakes = stakes_of(draws)
    assert capital(draws, stakes, low - 1e-6)[-1] > -np.log(RISK) > capital(draws, stakes, low + 1e-6)[-1]
    assert lowest_accuracy(draws, 0.01) < low < 0.9
    assert lowest_accuracy(draws_of([])) == 0.0


def test_stakes_know_nothing_of_what_comes():
    right = np.random.default_rng(0).random(K) < 0.9
    other = np.where(np.arange(K) < 70, right, ~right)
    one, two = stakes_of(draws_of(right)), stakes_of(draws_of(other))
    assert np.array_equal(one[:71], two[:71])
    assert not np.array_equal(one[71], two[71])


def test_draws_from_before_new_items_bound_their_share_only():
    draws = {i: Draw(1, i, 1000) for i in range(60)}
    before = lowest_accuracy(Draws.of(draws, np.arange(60), 1000))
    after = Draws.of(draws, np.arange(60), 1940)
    assert np.allclose(after.share, 0.5)
    assert lowest_accuracy(after) == pytest.approx(before / 2, abs=1e-6)


def test_uneven_chances_are_weighed_out():
    """200 easy items, from the 21st draw on 200 hard ones beside: two ways of counting, and the truth."""
    rng, plain, weighed = np.random.default_rng(1), [], []
    for _ in range(1000):
        draws: dict[int, Draw] = {}
        for k in range(60):
            items = 200 if k < 20 else 400
            item = int(rng.choice(np.setdiff1d(np.arange(items), list(draws))))
            draws[item] = Draw(int(rng.random() < (0.9 if item < 200 else 0.5)), k, items)
        found = Draws.of(draws, np.array(list(draws)), 400)
        plain.append(found.right.mean())
        weighed.append(found.accuracy)
    assert np.mean(plain) > 0.75
    assert np.mean(weighed) == pytest.approx(0.7, abs=4 * np.std(weighed) / np.sqrt(1000) + 0.005)


def test_even_chances_have_even_weights():
    assert np.allclose(draws_of([1, 0, 1], [0, 300, 900], 1000).weights, 1.0)
    assert len(draws_of([]).last(50)) == 0


def test_little_is_said_of_few_draws():
    found = judge(draws_of([1] * (ENOUGH - 1)), 100, 0.99, 0.8)
    assert (found.drawn, found.right) == (ENOUGH - 1, ENOUGH - 1)
    assert (found.value, found.low, found.expected, found.sure, found.stop) == (None, None, None, None, False)


def test_advice_follows_the_evidence():
    good, bad = draws_of([1] * 100), draws_of(np.arange(100) % 4 > 0)
    assert judge(good, 400, 0.97, 0.9).stop
    assert not judge(bad, 400, 0.97, 0.9).stop  # whatever the model says of itself
    sure = [judge(draws_of([1] * n), 200, stated, 0.9).sure for n, stated in ((20, 0.8), (20, 0.95), (50, 0.95))]
    assert sure == sorted(sure)
    sparse = draws_of(np.arange(30) % 3 > 0, np.arange(30) * 13)
    assert judge(sparse, 400, 0.98, 0.9).sure > SURE  # by itself
    assert not judge(sparse, 400, 0.98, 0.9).stop
    now = judge(bad, 400, 0.8, 0.9)
    assert now.low < now.expected < now.expected_more < 1.0
    assert now.value == 0.76  # of the last 50
    targets = [judge(good, 400, 0.97, target).sure for target in (0.8, 0.9, 0.95, 0.99)]
    assert targets == sorted(targets, reverse=True)
    assert judge(good, 400, 0.97, 0.9).stop == (targets[1] >= SURE)


def test_more_is_drawn_only_where_it_may_decide():
    assert not is_near(draws_of([1] * 4), 20, 0.8)  # too few
    assert not is_near(draws_of([0, 1] * 20), 200, 0.9)
    assert is_near(draws_of([1] * 15), 80, 0.9)
    assert not is_near(draws_of([1] * K), 700, 0.9)  # sure enough


def test_the_share_of_draws_falls():
    shares = [random_share(n) for n in range(5000)]
    assert sum(shares[:100]) == pytest.approx(20)
    assert shares == sorted(shares, reverse=True)
    assert shares[-1] == 0.05


def test_a_curve_gives_back_what_it_was_made_of():
    rng = np.random.default_rng(2)
    labels = np.arange(0, 2000, 2)
    truth = expit(0.8 + 0.9 * np.log((labels + 10) / 60))
    curves = Curves.after(draws_of(rng.random(1000) < truth, labels), 2000)
    assert curves.accuracy(0) == pytest.approx(truth[-1], abs=0.02)
    assert curves.accuracy(0) < curves.accuracy(500)


def test_a_learner_tells_how_good_it_is():
    rng = np.random.default_rng(3)
    sides = rng.integers(0, 2, 600)
    x = np.abs(rng.normal(size=(600, 2)) * 0.15 + np.where(sides[:, None] == 0, [1.0, 0.0], [0.0, 1.0]))
    clear, blind = (OnlineLearner(Settings(), ["left", "right"]) for _ in range(2))
    for learner, truth in ((clear, sides), (blind, rng.integers(0, 2, 600))):
        learner.add_items(x)
        for n in range(120):
            drawn = bool(rng.random() < random_share(n))
            item = int(rng.choice(np.flatnonzero(learner.labels < 0))) if drawn else learner.query(1, seed=n)[0].row
            learner.label(item, ["left", "right"][truth[item]], drawn=drawn)
    assert clear.accuracy(0.9).stop
    assert clear.accuracy().low > 0.75
    assert not blind.accuracy(0.8).stop
    assert blind.accuracy(0.8).expected < 0.8
    again = OnlineLearner.load(clear.settings, clear.dump())
    assert again.accuracy() == clear.accuracy()
