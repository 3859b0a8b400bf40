from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from core.models.look_ahead import one_posterior
from core.queries import STRATEGIES, PoolState, pick, picking
from core.queries.draws import EXPLORED, drawn
from tests.core.data import continuous, size
from tests.reference.dense import DenseGP, hik, targets
from tests.reference.freytag import unc_plus

NOISE = 0.1
N, LABELLED = size(300, 60), 12


def make_state(seed=0, n_classes=3):
    x = continuous(N, 6, seed=seed)
    y = np.digitize(x.sum(axis=1), np.quantile(x.sum(axis=1), np.arange(1, n_classes) / n_classes))
    K = hik(x, x, bias=0.5)
    rows = np.arange(LABELLED)
    gp = DenseGP(K[np.ix_(rows, rows)], targets(y[rows], n_classes), np.full(LABELLED, NOISE))
    C = K - K[:, rows] @ np.linalg.solve(gp.K + NOISE * np.eye(LABELLED), K[rows])
    free = np.arange(LABELLED, N)
    state = PoolState(
        gp.means(K[:, free][rows]),
        np.diag(C)[free],
        NOISE,
        free,
        lambda a, b: C[np.ix_(a, b)],
        lambda a, b: K[np.ix_(a, b)],
        np.arange(0, N, 3),
        rows,
        wanted=np.array([n_classes - 1]),
        around=one_posterior(gp.means(K[rows, ::3]), np.diag(C)[::3], NOISE),
        own=lambda items: np.diag(K)[items] - 0.5,
    )
    return state, C, K


# One row per strategy: whether it looks at the variance, the mean, and which item it must prefer to which.
EXPECTED = {
    "random": set(),
    "mean": {"mean"},
    "variance": {"variance"},
    "novelty": {"variance"},
    "unc": {"mean", "variance"},
    "unc+": {"mean", "variance"},
    "entropy": {"mean", "variance"},
    "bald": {"mean", "variance"},
    "emoc": {"mean", "variance", "covariance"},
    "density": {"mean", "variance", "kernel"},
    "herding": {"kernel"},
    "uherding": {"kernel"},
    "eer": {"mean", "variance", "covariance"},
    "epig": {"mean", "variance", "covariance"},
    "likely": {"mean"},
}


def test_every_strategy_has_a_row():
    assert set(EXPECTED) == set(STRATEGIES)


@pytest.mark.parametrize("n_classes", [1, 2, 4])
@pytest.mark.parametrize("name", STRATEGIES)
def test_template(name, n_classes):
    state, _, _ = make_state(n_classes=n_classes)
    scores = STRATEGIES[name](state, 1)
    assert scores.shape == (len(state),)
    assert np.isfinite(scores).all()
    # The same for a part of the pool as for the whole of it.
    some = np.array([5, 2, 17])
    assert np.allclose(STRATEGIES[name](state.take(some), 1), scores[some])
    # It depends on just what it says.
    rng = np.random.default_rng(3)
    changed = {
        "mean": PoolState(**{**vars(state), "mean": rng.normal(size=state.mean.shape)}),
        "variance": PoolState(**{**vars(state), "variance": rng.random(len(state))}),
        "covariance": PoolState(**{**vars(state), "covariance": lambda a, b: rng.random((len(a), len(b)))}),
        "kernel": PoolState(**{**vars(state), "kernel": lambda a, b: rng.random((len(a), len(b)))}),
    }
    for what, other in changed.items():
        same = np.allclose(STRATEGIES[name](other, 1), scores)
        if n_classes > 1 or (what in ("covariance", "kernel") and name != "eer"):  # of one class nothing is lost
            assert same == (what not in EXPECTED[name]), what
    # Picking: different items, reproducible, any count, seeds break ties.
    for count in (1, 7, len(state) + 5):
        picks = pick(state, name, count, seed=4)
        rows = [p.row for p in picks]
        assert len(set(rows)) == len(rows) == min(count, len(state))
        assert set(rows) <= set(state.rows.tolist())
        assert [p.row for p in pick(state, name, count, seed=4)] == rows
    if name != "random" and STRATEGIES[name].shortlist is None:
        assert scores[state.rows == pick(state, name, 1)[0].row][0] == scores.min()


def test_formulas():
    state, C, K = make_state()
    ordered = np.sort(state.mean, axis=1)
    gap, s = ordered[:, -1] - ordered[:, -2], NOISE + state.variance
    assert np.allclose(STRATEGIES["mean"](state, 0), gap)
    assert np.allclose(STRATEGIES["unc"](state, 0), gap / np.sqrt(s))
    assert np.allclose(STRATEGIES["novelty"](state, 0), -np.minimum(state.variance / (np.diag(K)[state.rows] - 0.5), 1))
    p = norm.cdf(state.mean / np.sqrt(s)[:, None])
    p /= p.sum(axis=1, keepdims=True)
    assert np.allclose(STRATEGIES["entropy"](state, 0), (p * np.log(p)).sum(axis=1))
    change = np.array(
        [sum(p[i, c] * np.abs(targets([c], 3)[0] - state.mean[i]).sum() for c in range(3)) for i in range(len(state))]
    )
    reach = np.abs(C[np.ix_(state.rows, state.reference)]).mean(axis=1)
    assert np.allclose(STRATEGIES["emoc"](state, 0), -change / s * reach)
    gain = K[np.ix_(state.rows, state.reference)] - K[np.ix_(state.reference, state.labelled)].max(axis=1)
    assert np.allclose(STRATEGIES["herding"](state, 0), -np.maximum(gain, 0).sum(axis=1))
    around = state.around
    q = norm.cdf(around.mean[0] / np.sqrt(around.variance[0] + NOISE)[:, None])
    doubts = 1.0 - (q / q.sum(axis=1, keepdims=True)).max(axis=1)
    assert np.allclose(STRATEGIES["uherding"](state, 0), -(np.maximum(gain, 0) * doubts).sum(axis=1))


@pytest.mark.parametrize("n_classes", [1, 2, 3, 5])
def test_unc_plus_weighs_the_deviation_by_the_number_of_classes(n_classes):
    state, _, _ = make_state(n_classes=n_classes)
    expected = [unc_plus(mean, variance, NOISE) for mean, variance in zip(state.mean, state.variance, strict=True)]
    assert np.allclose(STRATEGIES["unc+"](state, 0), expected)


def test_unc_plus_stays_where_a_class_without_labels_is_announced():
    """Wherever that is not among the best two."""
    state, _, K = make_state(n_classes=2)
    rows = state.labelled
    alpha = np.linalg.solve(K[np.ix_(rows, rows)] + NOISE * np.eye(len(rows)), -np.ones(len(rows)))
    unseen = K[np.ix_(state.rows, rows)] @ alpha
    behind = np.flatnonzero(unseen < state.mean.min(axis=1))
    assert len(behind) > len(state) / 2
    scores = STRATEGIES["unc+"](replace(state, mean=np.column_stack([state.mean, unseen])), 0)
    assert np.allclose(scores[behind], STRATEGIES["unc+"](state, 0)[behind])


@pytest.mark.parametrize("name", [name for name, rule in STRATEGIES.items() if rule.bounded])
def test_questions_may_go_by_a_bound_of_the_variance(name):
    state, C, _ = make_state(n_classes=2)
    bounds = state.variance + np.random.default_rng(0).random(len(state))
    bounded = replace(state, bounds=bounds)
    as_if = replace(state, variance=bounds)
    scores = STRATEGIES[name](bounded, 0)
    assert np.allclose(scores, STRATEGIES[name](as_if, 0))
    assert not np.allclose(scores, STRATEGIES[name](state, 0))
    assert pick(bounded, name)[0].row == state.rows[scores.argmin()]
    some = np.array([5, 2, 17])
    assert np.allclose(STRATEGIES[name](bounded.take(some), 0), scores[some])
    # What is asked about counts as answered: exactly so much less is unknown.
    batch, asked = picking._Batch(bounded, STRATEGIES[name], np.zeros(len(state)), 1), state.rows[[3]]
    batch.condition(asked)
    told = C[state.rows, asked] ** 2 / (C[asked, asked] + NOISE)
    assert np.allclose(batch._state.bounds, bounds - told)
    assert np.allclose(batch._state.variance, state.variance - told)


def test_likely_is_most_probable_first_however_alike():
    state, _, _ = make_state(n_classes=3)
    odds = state.mean[:, 2] - np.log(np.exp(state.mean[:, :2]).sum(axis=1))
    assert np.allclose(STRATEGIES["likely"](state, 0), -odds)
    best = state.rows[np.argsort(-odds)]
    assert [one.row for one in pick(state, "likely", 20, pending=best[:3])] == best[3:23].tolist()
    two, _, _ = make_state(n_classes=2)
    assert np.allclose(STRATEGIES["likely"](two, 0), -2 * two.mean[:, 1])


def test_likely_needs_a_wanted_class():
    state, _, _ = make_state()
    with pytest.raises(ValueError, match="which class is wanted"):
        pick(replace(state, wanted=np.empty(0, dtype=np.int64)), "likely")


def test_bald_is_the_mutual_information():
    state, _, _ = make_state(n_classes=2)
    few = state.take(np.arange(5))
    f = few.mean[:, 1] + np.sqrt(few.variance) * np.random.default_rng(0).normal(size=(200_000, 1))
    p = norm.cdf(f / np.sqrt(NOISE))

    def bits(p):
        p = np.clip(p, 1e-300, 1 - 1e-16)
        return -(p * np.log2(p) + (1 - p) * np.log2(1 - p))

    expected = bits(p.mean(axis=0)) - bits(p).mean(axis=0)
    assert np.allclose(STRATEGIES["bald"](few, 0), -2 * expected, atol=0.05)  # two columns


@pytest.mark.parametrize("strategy", ["variance", "unc", "unc+", "emoc"])
def test_a_batch_is_conditioned_on_its_picks(strategy):
    """Against picking one by one from the whole pool, conditioned in full each time: little is lost."""
    state, C, _ = make_state()

    def explained(rows):
        block = C[np.ix_(rows, rows)] + NOISE * np.eye(len(rows))
        cross = C[np.ix_(rows, state.rows)]
        return np.einsum("rm,rm->", cross, np.linalg.solve(block, cross)) / state.variance.sum()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("core.queries.picking.CANDIDATES", 10**6)
        full = [p.row for p in pick(state, strategy, 8)]
        patch.setattr("core.queries.picking.CANDIDATES", len(state) // 4)
        quick = [p.row for p in pick(state, strategy, 8)]
        top = state.rows[np.argsort(STRATEGIES[strategy](state, 0))[:8]].tolist()
    assert explained(quick) > 0.9 * explained(full)
    if strategy in ("variance", "unc"):  # which look for variance; the others weigh it against other things
        assert explained(full) >= explained(top) - 1e-9


def test_duplicates_are_not_asked_twice():
    state, C, K = make_state()
    copies = np.repeat(np.arange(len(state)), 3)
    twin = PoolState(
        state.mean[copies],
        state.variance[copies],
        NOISE,
        np.arange(len(copies)),
        lambda a, b: C[np.ix_(state.rows[copies[a]], state.rows[copies[b]])],
        lambda a, b: K[np.ix_(state.rows[copies[a]], state.rows[copies[b]])],
        np.arange(0, len(copies), 5),
        np.array([], dtype=int),
    )
    for strategy in ("variance", "unc", "unc+", "bald"):
        rows = [copies[p.row] for p in pick(twin, strategy, 5)]
        assert len(set(rows)) == 5
    first = pick(twin, "unc", 1)[0].row
    others = [p.row for p in pick(twin, "unc", 3, pending=np.array([first]))]
    assert copies[first] not in copies[others]


def test_exploration():
    state, _, _ = make_state()
    assert all(p.explored for p in pick(state, "unc", 10, explore=1.0))
    assert not any(p.explored for p in pick(state, "unc", 10))
    share = np.mean([p.explored for seed in range(20) for p in pick(state, "unc", 5, seed=seed, explore=0.3)])
    assert 0.15 < share < 0.45


def test_ties_are_broken_by_the_seed():
    state, _, _ = make_state()
    flat = PoolState(**{**vars(state), "mean": np.zeros_like(state.mean)})
    assert len({pick(flat, "mean", seed=seed)[0].row for seed in range(20)}) > 10


def test_unknown_strategy():
    with pytest.raises(ValueError, match=r"one of random, mean, .*; got 'best'"):
        pick(make_state()[0], "best")


def test_what_is_asked_counts_as_answered():
    state, C, _ = make_state()
    batch, rows = picking._Batch(state, STRATEGIES["unc"], np.zeros(len(state)), 1), state.rows[[3, 11, 12, 40]]
    batch.condition(rows[:2])
    batch.condition(rows[2:])
    block = C[np.ix_(rows, rows)] + NOISE * np.eye(4)
    cross = C[np.ix_(rows, state.rows)]
    expected = state.variance - np.einsum("rm,rm->m", cross, np.linalg.solve(block, cross))
    assert np.allclose(batch._state.variance, expected)


@pytest.mark.parametrize("count", [1, 3, 10])
def test_exploration_draws_from_all_items_whatever_the_candidates(count, monkeypatch):
    state, _, _ = make_state()
    monkeypatch.setattr(picking, "CANDIDATES", 1)
    monkeypatch.setattr(picking, "PER_PICK", 1)
    for seed in range(5):
        expected = state.rows[np.argsort(drawn(seed, EXPLORED, state.rows))[:count]]
        assert [p.row for p in pick(state, "unc", count, seed=seed, explore=1.0)] == expected.tolist()
