"""The online learner with a forest behind it."""

import numpy as np
import pytest

from core import OnlineLearner, Settings
from core.learner.record import Labelling
from core.models.forest import ForestPool
from core.models.parameters import Parameters
from core.queries import STRATEGIES
from tests.core.data import size
from tests.core.forest.test_forest import KERNELS, NAMES, forest, swirl

M = size(160, 60)  # items
N = M // 2  # labels
L = N // 6
HIK = pytest.param({"kernel": "hik"}, marks=pytest.mark.jit, id="hik")
COMPLEMENT = pytest.param({"kernel": "hik", "complement": True}, marks=pytest.mark.jit, id="complement")


def learner_of(x, classes=NAMES, parameters=None, **settings):
    given = {"kernel": "rbf", "gamma": 4.0, "noise": 0.05, "levels": None, "model": "forest", "n_trees": 3}
    learner = OnlineLearner(Settings(**given | {"leaf_size": L} | settings), list(classes), parameters)
    learner.add_items(x)
    return learner


def grown(x, y, **settings):
    """With trees grown on the first labels."""
    learner = learner_of(x, **settings)
    learner.label_many(dict(enumerate(y[:N].tolist())))
    learner.tune()
    assert learner.publish().solver == "forest"
    return learner


def check(learner, x):
    """As if all labels had come at once: means, variances, probabilities."""
    fresh = OnlineLearner.build(learner.settings, x, learner.labelling()).publish()
    found = learner.publish()
    assert np.allclose(found.mean, fresh.mean, atol=1e-8)
    assert np.allclose(found.variance, fresh.variance, atol=1e-8)
    assert np.allclose(found.probabilities, fresh.probabilities, atol=1e-7)
    assert np.array_equal(found.labels, fresh.labels)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_pool_knows_what_the_classifier_says(kernel):
    x, y = swirl(M)
    model = forest(kernel=kernel, leaf_size=L, levels=None).fit(x[:N], y[:N])
    leaf = model.forest_.settings
    theta = (*leaf.kernel.theta.tolist(), leaf.noise)
    parameters = Parameters(theta=theta, trees=tuple(tree.plain for tree in model.forest_.trees), grown_at=N)
    learner = learner_of(x, parameters=parameters, kernel=kernel)
    for item, name in enumerate(y[:N].tolist()):
        learner.label(item, name)
    found = learner.publish()
    assert np.allclose(found.mean, model.means(x), atol=1e-8)
    assert np.allclose(found.variance, model.predict_variance(x), atol=1e-8)
    assert np.allclose(found.probabilities, model.predict_proba(x), atol=1e-7)
    outside = swirl(20, seed=5)[0]
    mean, variance, probabilities, novelty = learner.predictive(outside)
    assert novelty is None  # trees that have grown are sure far from all labels, too
    assert np.allclose(mean, model.means(outside), atol=1e-8)
    assert np.allclose(variance, model.predict_variance(outside), atol=1e-8)
    assert np.allclose(probabilities, model.predict_proba(outside), atol=1e-7)
    state, items = model.pool_state(x, labelled=range(N)), np.arange(N, M)
    for a, b in ((items, items[:5]), (np.arange(10), items)):
        assert np.allclose(learner._model.covariance(a, b), state.covariance(a, b), atol=1e-8)
        assert np.allclose(learner._model.kernel(a, b), state.kernel(a, b), atol=1e-8)


def test_large_leaves_pure_or_not():
    """Of a pure leaf at most `leaf_size` labels count, of others all."""
    x, y = swirl(M)
    y = np.where(x[:, 0] > 0.4, "west", y)
    model = forest(leaf_size=L, levels=None).fit(x[:N], y[:N])
    y[N:] = np.where(x[N:, 0] > 0.7, "north", y[N:])
    model.partial_fit(x[N : N + 2 * L], y[N : N + 2 * L])
    leaves = [leaf for leaves in model.forest_.leaves for leaf in leaves.values() if len(leaf.members) > L]
    assert {leaf.pure is None for leaf in leaves} == {True, False}
    leaf = model.forest_.settings
    theta = (*leaf.kernel.theta.tolist(), leaf.noise)
    parameters = Parameters(theta=theta, trees=tuple(tree.plain for tree in model.forest_.trees), grown_at=N)
    learner = learner_of(x, parameters=parameters)
    learner.label_many(dict(enumerate(y[: N + 2 * L].tolist())))
    assert np.allclose(learner.mean, model.means(x), atol=1e-8)
    assert np.allclose(learner.variance, model.predict_variance(x), atol=1e-8)
    learner.merge_classes("north", "west")  # large leaves become pure
    check(learner, x)


def test_one_leaf_for_all_is_never_taken_for_pure():
    x, _ = swirl(M)
    learner, plain = learner_of(x), learner_of(x, model="gp")
    for one in (learner, plain):
        one.label_many(dict.fromkeys(range(2 * L), "west"))
    assert np.allclose(learner.variance, plain.variance, atol=1e-9)
    assert np.array_equal(learner.labels, plain.labels)


def test_what_is_told_of_other_rows():
    x, y = swirl(M)
    learner, rows = grown(x, y), swirl(9, seed=3)[0]
    mean, variance = learner.predictive(rows)[:2]
    found = learner.moments(rows)
    assert len(found) == 2
    assert np.array_equal(found[0], mean)
    assert np.array_equal(found[1], variance)
    assert np.array_equal(learner._model.means(rows), mean)
    residuals = [known.regression.posterior.residual() for _, known in learner._model.forest.models.items()]
    assert learner._model.residual() == max(residuals) < 1e-8
    one = learner_of(x)
    one.label_many(dict(enumerate(y[:9].tolist())))
    assert np.allclose(one._model.means(rows), one.moments(rows)[0])
    assert np.allclose(one._model.predictor(rows), one.moments(rows)[0])


@pytest.mark.parametrize("settings", [{}, {"n_trees": 1}, HIK, COMPLEMENT])
def test_whatever_way_labels_come_the_model_is_the_same(settings):
    x, y = swirl(M)
    learner = grown(x[: M - 9], y, **settings)
    check(learner, x[: M - 9])
    rng = np.random.default_rng(1)
    for step in range(size(30, 12)):
        item = int(rng.integers(0, M - 9))
        if learner.label_of(item) is None or step % 3:
            learner.label(item, str(rng.choice(NAMES)), noise_factor=float(rng.choice([1.0, 1.0, 4.0])))
        else:
            learner.retract(item)
    check(learner, x[: M - 9])
    learner.add_items(x[M - 9 :])
    learner.label(M - 1, "east")  # a name nobody has used
    check(learner, x)
    learner.label_many({M - 2: "east", M - 3: "west"})
    learner.rename_class("east", "far east")
    learner.merge_classes("far east", "west")  # leaves may become pure
    check(learner, x)


def test_until_there_are_labels_enough_it_is_one_model():
    x, y = swirl(M)
    learner, plain = learner_of(x), learner_of(x, model="gp")
    assert [pick.strategy for pick in learner.query(2)] == ["herding"] * 2
    for item in range(L):
        for one in (learner, plain):
            one.label(item, "south" if item < 3 else y[item])
        if item == 2:
            assert np.allclose(learner.one_class(), plain.one_class(), atol=1e-12)
    assert np.allclose(learner.publish().probabilities, plain.publish().probabilities, atol=1e-12)
    learner.tune()
    plain.tune()  # which also finds how sharp probabilities are, as it knows no leaves
    for one in (learner, plain):
        one.retract(3)
        one.label(4, "west")
    a, b = learner.publish(), plain.publish()
    assert (a.model, b.model) == ("forest", "gp")
    assert a.solver == b.solver == "dual"
    assert np.allclose(a.mean, b.mean, atol=1e-9)
    assert np.allclose(a.left_out.means, b.left_out.means, atol=1e-8)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_asks_and_predictions_agree(strategy):
    x, y = swirl(M)
    learner = grown(x, y)
    picks = learner.query(4, strategy, pending=np.array([M - 1]), explore=0.2, wanted=learner.classes[0])
    assert len({pick.row for pick in picks} - {M - 1}) == 4
    assert min(pick.row for pick in picks) >= N
    view = learner.publish()
    assert np.array_equal(view.predicted, learner.predict(x))
    assert np.array_equal(view.predicted_of(np.arange(5)), learner.predicted(np.arange(5)))
    assert np.allclose(view.probabilities, learner.predictive(x)[2], atol=1e-9)


def test_what_the_other_labels_say_of_each():
    x, y = swirl(M)
    learner = grown(x, y)
    for item in range(0, N, 14):
        learner.label(item, y[item], noise_factor=4.0)
    left_out = learner.publish().left_out
    labelling = learner.labelling()
    for place in range(0, N, 7):
        item = int(left_out.items[place])
        learner.retract(item)
        now = learner.publish()
        assert np.allclose(left_out.means[place], now.mean[item], atol=1e-6)
        noise_factor = labelling.noise_factors.get(item, 1.0)
        if noise_factor == 1.0:  # else those of a label that is doubted
            assert np.allclose(left_out.probabilities[place], now.probabilities[item], atol=1e-6)
        learner.label(item, labelling.labels[item], noise_factor=noise_factor)
    assert any(one.value is not None for one in learner.estimates())


@pytest.mark.parametrize("settings", [{}, HIK])
def test_a_restored_forest_is_the_same_bit_for_bit(settings):
    x, y = swirl(M)
    learner = grown(x[: M - 5], y, **settings)
    learner.label(N + 1, "west")
    restored = OnlineLearner.load(learner.settings, learner.dump())
    for one in (learner, restored):
        one.retract(3)
        one.add_items(x[M - 5 :])
        one.label(M - 1, "south")
    a, b = learner.publish(), restored.publish()
    assert np.allclose(a.mean, b.mean, atol=1e-9)
    assert np.array_equal(a.variance, b.variance)
    assert np.array_equal(a.probabilities, b.probabilities)
    assert learner.labelling().parameters == restored.labelling().parameters


def test_a_change_that_fails_half_way_is_taken_back(monkeypatch):
    x, y = swirl(M)
    learner = grown(x, y)
    before, follow, done = learner.publish(), ForestPool._followed, []

    def fail(labelled, t, items):
        done.append(t)
        if len(done) == 2:
            raise MemoryError("full")
        return follow(labelled, t, items)

    monkeypatch.setattr(ForestPool, "_followed", fail)
    with pytest.raises(MemoryError):
        learner.label(N + 2, "nowhere")
    monkeypatch.undo()
    assert learner.classes == list(NAMES)
    assert np.array_equal(learner.mean, before.mean)
    check(learner, x)
    learner.label(N + 2, "west")
    check(learner, x)


@pytest.mark.jit
def test_a_search_that_is_stopped_changes_nothing():
    x, y = swirl(M)
    learner = grown(x, y, leaf_size=30)
    learner.label(N + 3, "west")
    before, steps = learner.labelling().parameters, iter(range(3))
    with pytest.raises(StopIteration):
        learner.tune(on_step=lambda: next(steps))
    assert learner.labelling().parameters == before
    check(learner, x)


def test_many_labels_at_once_grow_trees_before_they_are_solved():
    x, y = swirl(M)
    settings = grown(x, y).settings
    labelling = Labelling(tuple(NAMES), dict(enumerate(y[:N].tolist())))
    learner = OnlineLearner.build(settings, x, labelling)
    assert learner.publish().solver == "forest"
    check(learner, x)


def test_large_leaves_ask_for_a_training_which_splits_them():
    x, y = swirl(M)
    learner = grown(x, y)
    assert not learner.publish().is_outgrown
    place = learner._model.by_tree[0].nodes
    crowded = np.bincount(place[N:]).argmax()
    learner.label_many({item: NAMES[item % 2] for item in range(N, M) if place[item] == crowded})
    learner.add_items(x + 1e-3)
    near = np.flatnonzero(place == crowded)[: 2 * L]
    learner.label_many({M + int(item): NAMES[item % 3] for item in near})
    assert learner.publish().is_outgrown
    learner.tune()
    assert not learner.publish().is_outgrown
    for leaves in learner._model.forest.leaves:
        assert max(len(leaf.members) for leaf in leaves.values() if leaf.pure is None) <= L


def test_a_leaf_is_outgrown_by_twice_its_labels_of_which_enough_are_new():
    x, y = swirl(M)
    learner = learner_of(x)
    learner.label_many(dict(enumerate(y[: 2 * L].tolist())))
    assert not learner.publish().is_outgrown
    learner.label(2 * L, y[2 * L])
    assert learner.publish().is_outgrown
    equal = learner_of(np.ones((M, 3)))  # which no tree can split
    equal.label_many({item: NAMES[item % 2] for item in range(3 * L)})
    assert equal.publish().is_outgrown
    equal.tune()
    equal.label_many({item: NAMES[item % 2] for item in range(3 * L, 4 * L - 1)})
    assert not equal.publish().is_outgrown
    equal.label(4 * L - 1, NAMES[0])
    assert equal.publish().is_outgrown


def test_factors_that_memory_does_not_hold_are_solved_again():
    x, y = swirl(M)
    room = 3 * 8.0 * (L + 40) ** 2
    learner, roomy = (grown(x, y, max_memory=memory) for memory in (room, 2**30))
    few, many = learner._model.forest.models, roomy._model.forest.models
    assert 3 <= len(few) < len(many)
    assert few.memory == sum(8.0 * (len(known.rows) + 32) ** 2 for _, known in few.items()) <= room
    for one in (learner, roomy):
        one.label(N + 1, "west")
        one.retract(2)
    assert np.allclose(learner.mean, roomy.mean, atol=1e-8)
    assert learner.query(2, "emoc")[0].row == roomy.query(2, "emoc")[0].row
    check(learner, x)


def checkers(n, seed=0):
    """Classes that a sum of functions of one column each cannot tell apart."""
    rng = np.random.default_rng(seed)
    x = rng.random((n, 2))
    return x, np.where((x[:, 0] > 0.5) == (x[:, 1] > 0.5), "a", "b")


@pytest.mark.jit
def test_auto_takes_the_forest_where_it_is_surely_better_and_does_not_flap():
    x, y = checkers(400)
    settings = Settings(model="auto", leaf_size=40, n_trees=5)
    labelling = Labelling(("a", "b"), dict(enumerate(y[:60].tolist())))
    few = OnlineLearner.build(settings, x, labelling, train=True)
    assert few.publish().model == "gp"
    assert few.publish().model_choice is None
    few.label_many(dict(enumerate(y[60:200].tolist(), 60)))
    many = OnlineLearner.build(settings, x, few.labelling(), train=True)
    view = many.publish()
    assert (view.model, view.solver) == ("forest", "forest")
    assert str(view.model_choice).startswith("forest: squared error of held-out labels 0.")
    assert (view.predicted == (y == "b")).mean() > 0.9
    again = OnlineLearner.build(settings, x, many.labelling(), train=True)
    assert again.publish().model == "forest"
    assert again.publish().model_choice is None  # labels have not doubled
    wide = np.random.default_rng(1).random((200, 6))
    sums = np.where(wide.sum(axis=1) + np.random.default_rng(2).normal(scale=0.5, size=200) > 3.0, "b", "a")
    plain = OnlineLearner.build(settings, wide, Labelling(("a", "b"), dict(enumerate(sums.tolist()))), train=True)
    assert plain.publish().model == "gp"
    assert str(plain.publish().model_choice).startswith("gp: ")


def test_auto_stays_with_what_is_in_use_unless_the_other_is_surely_better():
    x, y = checkers(90)
    settings = Settings(kernel="rbf", gamma=8.0, model="auto", leaf_size=30, n_trees=2)
    for incumbent in ("gp", "forest"):
        known = Parameters(model=incumbent, model_chosen_at=40)
        labelling = Labelling(("a", "b"), dict(enumerate(y.tolist())), parameters=known)
        view = OnlineLearner.build(settings, x, labelling, train=True).publish()
        assert view.model_choice is not None
        behind = {one.name: one for one in view.model_choice.contenders}
        challenger = behind["forest" if incumbent == "gp" else "gp"]
        assert view.model == incumbent or challenger.error < behind[incumbent].error
        assert behind[view.model].behind == 0.0
        assert view.solver == {"gp": "dual", "forest": "forest"}[view.model]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"likelihood": "softmax"}, 'needs likelihood="gaussian"'),
        ({"balance": True}, "knows no balance"),
        ({"tune": "evidence"}, 'needs tune="loo"'),
        ({"leaf_size": 0}, "leaf_size"),
        ({"n_trees": 1.5}, "n_trees must be a whole number"),
        ({"model": "tree"}, "model must be one of 'gp', 'forest', 'auto'"),
    ],
)
def test_settings_that_do_not_go_together(settings, message):
    with pytest.raises(ValueError, match=message):
        OnlineLearner(Settings(**{"model": "forest"} | settings))


@pytest.mark.jit
def test_means_as_a_function_stay_as_they_are():
    x, y = swirl(M)
    learner = grown(x, y)
    rows = learner._model.rows(np.arange(20))
    means = learner._model.predictor
    before = means(rows)
    learner.label(N + 2, "nowhere")
    learner.retract(0)
    assert np.array_equal(means(rows), before)
    assert learner._model.predictor(rows).shape[1] == before.shape[1] + 1
