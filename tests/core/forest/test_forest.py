from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from core import GPHIKClassifier, GPHIKForestClassifier
from core.forest import TableRows, Tree, grow, tree_rule, tune_shared, tuning
from core.probabilities import probit
from core.queries import STRATEGIES, pick
from core.tables import Reader
from core.tuning import DualCriterion
from tests.core.data import size, word_counts
from tests.reference.dense import hik, targets

N = size(150, 60)
L = N // 5
NAMES = np.array(["north", "south", "west"])


def swirl(n=N, seed=0):
    """Classes that no single column tells apart, all values positive."""
    rng = np.random.default_rng(seed)
    x = rng.random((n, 3))
    return x, NAMES[(np.floor(3 * x[:, 0]) + np.floor(3 * x[:, 1])).astype(int) % 3]


def forest(**settings):
    return GPHIKForestClassifier(**{"n_trees": 3, "leaf_size": L, "gamma": 4.0, "noise": 0.05, **settings})


KERNELS = {
    "rbf": lambda a, b: np.exp(-4.0 * ((a[:, None] - b[None]) ** 2).sum(axis=2)) + 1.0,
    "hik": lambda a, b: hik(a, b) + 1.0,
}


def by_hand(model, kernel, query, noise=0.05):
    """Means, variances, probabilities, tree by tree and row by row, from dense matrices."""
    f, x = model.forest_, np.asarray(model.forest_.rows.take())
    labels, m = f.labels, len(model.classes_)
    mean, spread, p = (np.zeros((len(f.trees), len(query), k)) for k in (m, 1, m))
    for t, tree in enumerate(f.trees):
        own, places = tree.route(x), tree.route(query)
        for i, place in enumerate(places):
            rows = np.flatnonzero(own == place)
            pure = len(np.unique(labels[rows])) == 1
            Y = targets(labels[rows], m)
            if pure:
                rows = rows[: f.settings.leaf_size]
            K = kernel(x[rows], x[rows]) + noise * np.eye(len(rows))
            k = kernel(x[rows], query[i : i + 1])
            mean[t, i] = Y[0] if pure else (k.T @ np.linalg.solve(K, Y))[0]
            spread[t, i] = kernel(query[i : i + 1], query[i : i + 1]) - k.T @ np.linalg.solve(K, k)
            p[t, i] = Y[0] > 0 if pure else probit(mean[t, i : i + 1][:, :], spread[t, i] + noise)[0]
    variance = spread.mean(axis=0)[:, 0] + mean.var(axis=0).mean(axis=1)
    return mean.mean(axis=0), variance, p.mean(axis=0)


def agrees(model, kernel, query):
    mean, variance, p = by_hand(model, KERNELS[kernel], query)
    assert np.allclose(model.means(query), mean, atol=1e-8)
    assert np.allclose(model.predict_variance(query), variance, atol=1e-8)
    found = model.predict_proba(query)
    assert np.allclose(found, p, atol=1e-7)
    assert np.array_equal(model.predict(query), model.classes_[found.argmax(axis=1)])


@pytest.mark.parametrize("trees", ["extra", "random", "best"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_posterior_is_the_average_of_exact_leaves(kernel, trees):
    x, y = swirl()
    model = forest(kernel=kernel, trees=trees, levels=None).fit(x, y)
    assert all(len(leaves) > 1 for leaves in model.forest_.leaves)
    assert all(len(leaf.members) <= L for leaves in model.forest_.leaves for leaf in leaves.values())
    agrees(model, kernel, swirl(20, seed=5)[0])


def test_one_leaf_is_the_model_without_a_tree():
    x, y = swirl()
    query = swirl(20, seed=5)[0]
    model = forest(leaf_size=N, n_trees=2).fit(x, y)
    whole = GPHIKClassifier("rbf", gamma=4.0, noise=0.05).fit(x, y)
    assert np.allclose(model.means(query), whole.means(query))
    assert np.allclose(model.predict_proba(query), whole.predict_proba(query))
    assert np.allclose(model.predict_variance(query, noisy=True), whole.predict_variance(query, noisy=True))


@pytest.mark.parametrize("kernel", KERNELS)
def test_labels_are_routed_and_every_change_is_exact(kernel):
    x, y = swirl()
    query = swirl(20, seed=5)[0]
    model = forest(kernel=kernel, levels=None).fit(x[:-20], y[:-20])
    model.predict_proba(query)
    for i in range(N - 20, N):
        model.partial_fit(x[i : i + 1], y[i : i + 1])
    assert len(model.forest_.rows) == N
    agrees(model, kernel, query)
    model.partial_fit(x[:2] * 0.9, ["east", "west"], classes=["up"])
    assert model.classes_.tolist() == ["east", "north", "south", "up", "west"]
    agrees(model, kernel, query)
    model.relabel([0, 7], ["north", "centre"])
    agrees(model, kernel, query)
    model.forget([0, 3, N + 1])
    assert len(model.forest_.rows) == N - 1
    agrees(model, kernel, query)


@pytest.mark.jit
def test_leaves_that_outgrow_twice_their_size_split():
    x, y = swirl(3 * N)
    model = forest(n_trees=2).fit(x[:L], y[:L])
    assert [len(leaves) for leaves in model.forest_.leaves] == [1, 1]
    for first in range(L, 3 * N, 10):
        model.partial_fit(x[first : first + 10], y[first : first + 10])
    for tree, leaves in zip(model.forest_.trees, model.forest_.leaves, strict=True):
        assert sorted(leaves) == tree.leaves.tolist()
        assert all(len(leaf.members) <= 2 * L or leaf.pure is not None for leaf in leaves.values())
        members = np.concatenate([leaf.members for leaf in leaves.values()])
        assert np.array_equal(np.sort(members), np.arange(3 * N))
    agrees(model, "rbf", swirl(10, seed=5)[0])


def test_many_rows_at_once_are_split_before_they_are_solved():
    x, y = swirl(20 * L)
    model = forest(n_trees=1).fit(x[:L], y[:L])
    model.partial_fit(x[L:], y[L:])
    sizes = [len(leaf.members) for leaf in model.forest_.leaves[0].values() if leaf.pure is None]
    assert len(sizes) > 5
    assert max(sizes) <= L
    assert len(model.forest_.models) == 0


def test_equal_rows_that_no_tree_can_split():
    x = np.repeat([[0.2, 0.2, 0.2], [0.9, 0.1, 0.4]], [100, 5], axis=0)
    y = NAMES[np.arange(105) % 3]
    model = forest(leaf_size=10).fit(x, y)
    node, leaf = max(model.forest_.leaves[0].items(), key=lambda leaf: len(leaf[1].members))
    known = model.forest_.models.get((0, node))
    assert (len(leaf.members), len(known.rows), len(known.regression.labels)) == (100, 100, 3)
    agrees(model, "rbf", x[[0, 104]] + 0.05)
    for _ in range(3):
        model.partial_fit(x[:40], y[:40])  # outgrows 2 L, and stays one leaf
    agrees(model, "rbf", x[[0, 104]] + 0.05)


def test_a_pure_leaf_that_grows_knows_so_many_labels_only():
    x = np.random.default_rng(0).random((30, 3))
    x[:, 0] = np.arange(30) % 2 + 0.1 * x[:, 0]
    y = NAMES[np.arange(30) % 2]
    model = forest(leaf_size=10, n_trees=1, trees="best").fit(x[:16], y[:16])
    agrees(model, "rbf", x[:4])
    for i in range(16, 30):
        model.partial_fit(x[i : i + 1], y[i : i + 1])
        agrees(model, "rbf", x[:4])
    assert [len(leaf.members) for leaf in model.forest_.leaves[0].values()] == [15, 15]


def test_rows_of_one_class_are_one_leaf_that_knows_so_many_of_them():
    x, y = swirl()
    model = forest(leaf_size=10, n_trees=2).fit(x, np.full(N, "west"))
    assert [len(known.rows) for _, known in model.forest_.models.items()] == [20, 20]
    some = GPHIKClassifier("rbf", gamma=4.0, noise=0.05).fit(x[:20], np.full(20, "west"))
    assert np.allclose(model.means(x), some.means(x))
    assert np.allclose(model.predict_variance(x), some.predict_variance(x))
    model.partial_fit(x * 0.9, y)
    assert all(len(leaves) > 1 for leaves in model.forest_.leaves)
    agrees(model, "rbf", swirl(9, seed=5)[0])


def test_factors_that_memory_does_not_hold_are_made_again():
    x, y = swirl()
    query = swirl(20, seed=5)[0]
    large, small = forest().fit(x, y), forest(max_memory=1.0).fit(x, y)
    assert len(small.forest_.models) == 1
    assert np.allclose(small.means(query), large.means(query))
    assert np.allclose(small.predict_variance(query), large.predict_variance(query))
    small.partial_fit(x[:5] * 0.9, y[:5])
    agrees(small, "rbf", query)


def test_memory_holds_as_many_factors_as_fit():
    x, y = swirl()

    def sizes(model):
        return [8.0 * (len(known.rows) + 32) ** 2 for _, known in model.forest_.models.items()]

    everything = sizes(forest().fit(x, y))
    room = sum(everything) / 2
    held = sizes(forest(max_memory=room).fit(x, y))
    assert room - max(everything) < sum(held) <= room


def test_leaves_without_a_factor_keep_what_the_mean_needs():
    x, y = swirl()
    f = forest(max_memory=1.0).fit(x, y).forest_
    leaves = {(t, node): leaf for t, leaves in enumerate(f.leaves) for node, leaf in leaves.items()}
    dropped = [leaf for place, leaf in leaves.items() if leaf.pure is None and place not in f.models]
    assert len(dropped) > 3
    assert all(len(leaf.weights) == len(leaf.members) for leaf in dropped)
    equal = np.repeat(np.eye(3)[:2], 30, axis=0)  # one model row stands for many
    model = forest(leaf_size=10, max_memory=1.0).fit(equal, NAMES[np.arange(60) % 3])
    agrees(model, "rbf", equal[[0, 59]] + 0.05)


def test_rows_that_come_one_by_one_are_seldom_copied():
    store = TableRows(np.zeros((1, 2)), Reader(histograms=False, complement=None), None)
    buffers = {id(store._table): store._table}
    for i in range(1, 200):
        store.append(np.full((1, 2), float(i)))
        buffers[id(store._table)] = store._table
    assert len(buffers) < 12
    assert np.array_equal(store.take()[:, 1], np.arange(200.0))


def test_sparse_rows():
    x, y = word_counts(N, 12, 3)
    dense = forest(kernel="hik", leaf_size=20).fit(x[:-5], y[:-5])
    sparse = forest(kernel="hik", leaf_size=20).fit(sp.csr_matrix(x[:-5]), y[:-5])
    assert len(sparse.forest_.leaves[0]) > 1
    for model in (dense, sparse):
        model.partial_fit(sp.csr_matrix(x[-5:]), y[-5:]).forget([3])
    for query in (x, sp.csr_matrix(x)):
        assert np.allclose(sparse.predict_proba(query), dense.predict_proba(x))


@pytest.mark.parametrize("settings", [{}, {"tune": "loo", "own": True}, {"kernel": "hik", "complement": True}])
def test_state_is_plain_arrays(settings, tmp_path):
    x, y = swirl()
    model = forest(**settings).fit(x[:-3], y[:-3]).partial_fit(x[-3:], y[-3:])
    np.savez(tmp_path / "state.npz", **model.dump())
    with np.load(tmp_path / "state.npz", allow_pickle=False) as arrays:
        again = clone(model).load(arrays)
    query = swirl(20, seed=5)[0]
    assert np.allclose(again.predict_proba(query), model.predict_proba(query), atol=1e-9)
    assert np.allclose(again.predict_variance(query), model.predict_variance(query), atol=1e-9)
    again.partial_fit(x[:1], y[:1]).forget([0])
    assert np.array_equal(again.classes_, model.classes_)
    sparse = forest(kernel="hik").fit(sp.csr_matrix(x), y)
    assert all(type(array) is np.ndarray for array in sparse.dump().values())
    assert np.allclose(forest(kernel="hik").load(sparse.dump()).predict_proba(x), sparse.predict_proba(x))


@pytest.mark.jit
def test_the_state_of_a_chosen_kernel():
    x, y = swirl()
    model = forest(kernel="auto").fit(x, y)
    assert model.choice_.name in str(model.choice_)
    again = forest(kernel="auto").load(model.dump())
    assert np.allclose(again.predict_proba(x), model.predict_proba(x), atol=1e-9)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_asks(strategy):
    x, y = swirl(N // 2)
    labelled = np.arange(0, N // 2, 3)
    model = forest(leaf_size=12).fit(x[labelled], y[labelled])
    state = replace(model.pool_state(x, labelled), wanted=np.array([0]))
    picks = pick(state, strategy, 4)
    assert len({p.row for p in picks} - set(labelled.tolist())) == 4
    assert all(np.isfinite(p.score) for p in picks)


def test_the_covariance_of_a_pool_fits_its_variance():
    x, y = swirl(40)
    state = forest(leaf_size=12).fit(x[:30], y[:30]).pool_state(x, np.arange(30))
    rows = np.arange(40)
    matrix, prior = state.covariance(rows, rows), state.kernel(rows, rows)
    assert np.allclose(np.diagonal(matrix)[30:], state.variance, atol=1e-8)
    for symmetric in (matrix, prior):
        assert np.allclose(symmetric, symmetric.T)
        assert np.linalg.eigvalsh(symmetric).min() > -1e-8
    assert (prior == 0.0).any()
    assert np.allclose(state.take(np.array([2])).probabilities, state.probabilities[[2]])


@pytest.mark.jit
def test_leave_one_out_inside_the_leaves():
    x, y = swirl()
    model = forest(gamma=0.01, noise=1.0).fit(x, y)
    before = model.score(*swirl(seed=9))
    found = tune_shared(model.forest_, model._settings)
    model.tune()
    assert model.tuned_.value == found.value
    assert model.tuned_.evaluations > 3
    assert model.forest_.settings.kernel.gamma > 0.1
    assert model.score(*swirl(seed=9)) > before
    own = forest(tune="loo", own=True).fit(x, y)
    leaves = [leaf for leaves in own.forest_.leaves for leaf in leaves.values()]
    assert all((leaf.noise is not None) == (len(leaf.members) >= 20 and leaf.pure is None) for leaf in leaves)
    noises = {leaf.noise for leaf in leaves}
    assert len(noises) > 2
    assert min(n for n in noises if n) <= own.forest_.noise <= max(n for n in noises if n)


def test_a_search_in_the_leaves_tells_their_error_and_calibrates(monkeypatch):
    x, y = swirl()
    model = forest(n_trees=2, leaf_size=N // 2)
    found = tune_shared(model.fit(x, y).forest_, model._settings)
    leaves = list(tuning.impure_leaves(model.forest_))
    rows = np.array([len(leaf.noise_factors) for leaf in leaves])
    ends = [DualCriterion(*leaf, "loo")(found.kernel, found.noise) for leaf in leaves]
    assert len(set(rows)) > 1
    assert found.rows == rows.sum()
    assert found.value == pytest.approx(rows @ [end.value for end in ends] / rows.sum())
    assert rows @ [end.amplitude for end in ends] / rows.sum() == pytest.approx(1.0)
    monkeypatch.setattr(tuning, "SAMPLE_ROWS", 5)
    assert tune_shared(model.forest_, model._settings).rows == rows[0]  # whole leaves


@pytest.mark.jit
def test_validation_chooses_leaf_size_trees_and_gamma():
    x, y = swirl(200, seed=2)
    model = forest(leaf_size="auto", trees="auto", tune="validation", gamma=0.05).fit(x, y)
    chosen = min(model.candidates_, key=lambda c: c.log_loss)
    assert chosen.accuracy < max(c.accuracy for c in model.candidates_)  # the two disagree
    f = model.forest_
    assert (chosen.rule, chosen.leaf_size, chosen.gamma) == (f.rule, f.settings.leaf_size, f.settings.kernel.gamma)
    assert {c.rule for c in model.candidates_} == {"extra", "random"}
    assert {c.leaf_size for c in model.candidates_} == {125, 160}  # all that four of five rows fill
    loo = forest(leaf_size="auto", tune="loo").fit(x, y)
    assert len(loo.candidates_) == len({c.leaf_size for c in loo.candidates_}) > 1


def test_a_change_that_fails_half_way_is_taken_back(monkeypatch):
    x, y = swirl()
    model = forest().fit(x, y)
    before = model.predict_proba(x)
    route = Tree.route
    calls = []

    def fail(self, rows):
        calls.append(self)
        if len(calls) > 1:
            raise np.linalg.LinAlgError("no factor")
        return route(self, rows)

    monkeypatch.setattr(Tree, "route", fail)
    with pytest.raises(np.linalg.LinAlgError):
        model.partial_fit(x[:9] * 0.9, ["new"] * 9)
    monkeypatch.undo()
    assert model.classes_.tolist() == NAMES.tolist()
    assert np.allclose(model.predict_proba(x), before)
    agrees(model.partial_fit(x[:2] * 0.9, y[:2]), "rbf", x[:5])


def test_values_beyond_single_precision_are_routed():
    x = np.array([[1e300], [-1e300], [0.0], [2.0]])
    tree = grow(x, np.array([0, 1, 1, 0]), 1, "best", 0)
    assert len(set(tree.route(x).tolist())) == 2
    for sign in (1.0, -1.0):
        x = sign * np.array([[1e300], [1.0], [2.0]])
        tree = grow(x, np.array([0, 1, 1]), 1, "best", 0)
        assert len(set(tree.route(x).tolist())) == 2


def test_one_tree_is_the_best_and_several_differ():
    assert [tree_rule(n) for n in (1, 2, 10)] == ["best", "extra", "extra"]
    assert Tree.leaf().leaves.tolist() == [0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_trees": 0}, "n_trees must be a whole number above 0; got 0"),
        ({"leaf_size": "large"}, "leaf_size must be a whole number above 0 or 'auto'"),
        ({"trees": "oak"}, "trees must be one of 'extra', 'random', 'best', 'auto'"),
        ({"tune": "evidence"}, "tune must be one of"),
        ({"own": True}, 'own=True needs tune="loo"'),
        ({"kernel": "hik", "complement": True, "split": True}, "choose one"),
        ({"noise": -1.0}, "noise must be"),
    ],
)
def test_what_does_not_fit(settings, message):
    x, y = swirl(30)
    with pytest.raises(ValueError, match=message):
        forest(**settings).fit(x, y)


def test_bad_rows_are_named_and_lose_nothing():
    x, y = swirl(30)
    model = forest(kernel="hik").fit(x, y)
    bad = x.copy()
    bad[2, 1] = -1.0
    for call in (model.predict, model.means, lambda rows: model.partial_fit(rows, y), model.pool_state):
        with pytest.raises(ValueError, match="row 2, column 1"):
            call(bad)
    for wrong in ([30], [1, 1], [0.5]):
        with pytest.raises(ValueError, match="different whole numbers from 0 to 29"):
            model.forget(wrong)
    assert len(model.forest_.rows) == 30
