"""The online learner under the softmax likelihood, flat and with a tree of classes."""

from functools import partial

import numpy as np
import pytest
from scipy.special import softmax

from core import OnlineLearner, Settings
from core.classes.nodes import Nodes
from core.factory import make_operator, make_reader
from core.models.softmax import SoftmaxPool
from core.queries import STRATEGIES
from core.softmax import SoftmaxClasses, laplace_posterior
from tests.core.data import size, word_counts

NAMES = ["ant", "bee", "cat"]
TREE = {"ant": "insect", "bee": "insect"}
N = size(80, 24)
HIK = pytest.param({}, marks=pytest.mark.jit, id="hik")
COMPLEMENT = pytest.param({"complement": True}, marks=pytest.mark.jit, id="complement")


def learner_of(x, *, classes=NAMES, parents=None, **settings):
    learner = OnlineLearner(Settings(**{"likelihood": "softmax", "levels": None, **settings}), classes, parents=parents)
    learner.add_items(x)
    return learner


def tree_learner(x, **settings):
    return learner_of(x, classes=[*NAMES, "insect"], parents=TREE, **settings)


def check(learner, x, labels):
    """Means are those of a model that was fitted to these labels {item: name} at once; variances of regression."""
    fresh = OnlineLearner(learner.settings, learner.nodes.given, parents=learner.nodes.parents)
    fresh.add_items(x)
    fresh.label_many(labels)
    assert np.allclose(learner.mean, fresh.mean, atol=1e-4)
    assert np.allclose(learner.variance, fresh.variance, atol=1e-8)
    expected = np.full(len(x), -1)
    expected[list(labels)] = [learner.nodes.number(name) for name in labels.values()]
    assert np.array_equal(learner.labels, expected)


@pytest.mark.parametrize("settings", [HIK, {"kernel": "rbf", "gamma": 0.5}, {"kernel": "linear"}, COMPLEMENT])
def test_labels_corrections_retractions_new_classes_and_new_items(settings):
    x, y = word_counts(N, 8, 3)
    x[0], x[1] = x.min(axis=0), x.max(axis=0)  # the scale of complements is that of the first items
    learner = tree_learner(x[: N - 6], **settings)
    labels = {}
    for item in range(8):
        learner.label(item, NAMES[y[item]])
        labels[item] = NAMES[y[item]]
    check(learner, x[: N - 6], labels)
    learner.retract(3)
    del labels[3]
    learner.label(5, "dodo")  # a correction, and a name nobody has used
    learner.label(6, "insect")
    labels |= {5: "dodo", 6: "insect"}
    check(learner, x[: N - 6], labels)
    learner.add_items(x[N - 6 :])
    learner.label_many({N - 1: "ant", N - 2: "insect"})
    labels |= {N - 1: "ant", N - 2: "insect"}
    check(learner, x, labels)
    learner.add_classes(["wasp", "fly"], {"wasp": "bee", "fly": "insect"})  # what was a class becomes a node
    assert learner.classes == ["ant", "cat", "dodo", "wasp", "fly"]
    learner.label(N - 3, "wasp")
    labels |= {N - 3: "wasp"}
    check(learner, x, labels)
    learner.merge_classes("bee", "ant")
    labels = {item: "ant" if name == "bee" else name for item, name in labels.items()}
    assert learner.nodes.parents == {"ant": "insect", "wasp": "ant", "fly": "insect"}
    check(learner, x, labels)
    learner.rename_class("insect", "bug")
    assert learner.label_of(6) == ("bug", 1.0)


@pytest.mark.parametrize("parents", [None, TREE])
def test_means_and_variances_are_those_of_the_softmax_model(parents):
    x, y = word_counts(N, 8, 3)
    learner = learner_of(x, classes=[*NAMES, "insect"], parents=parents)
    learner.label_many({item: NAMES[y[item]] for item in range(12)})
    settings, tree = Settings(levels=None, likelihood="softmax"), learner.nodes.tree
    operator = make_operator(settings, x, make_reader(settings, x))
    model = SoftmaxClasses(operator.only(np.arange(12)), learner.labels[:12], tree, noise=0.1)
    rows = operator.training_rows(np.arange(N))
    assert np.allclose(learner.publish().probabilities, model.probabilities(rows), atol=1e-4)
    # With all probabilities equal, the Laplace posterior is the one that variances are taken from.
    model.solution.latents[:] = 0.0
    assert np.allclose(learner.variance, laplace_posterior(model).variance(rows))
    means, variance = learner.moments(x[:3])
    assert np.allclose(means, learner.mean[:3])
    assert np.allclose(variance, learner.variance[:3])


def test_a_label_that_is_doubted_counts_for_less():
    x, y = word_counts(N, 8, 3)
    labels = {item: NAMES[y[item]] for item in range(8)}
    sure, doubted = tree_learner(x), tree_learner(x)
    sure.label_many(labels)
    doubted.label_many(labels, {3: 2.0})
    own = [learner.publish().probabilities[3, y[3]] for learner in (sure, doubted)]
    assert own[1] < own[0]
    # Two of them weigh as much as one that nobody doubts.
    twice = tree_learner(np.vstack([x, x[3]]))
    twice.label_many(labels | {N: NAMES[y[3]]}, {3: 2.0, N: 2.0})
    assert np.allclose(twice.mean[:N], sure.mean, atol=1e-4)
    doubted.label(3, labels[3])  # by now it is trusted
    assert np.allclose(doubted.mean, sure.mean, atol=1e-4)


@pytest.mark.parametrize("parents", [None, TREE])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_asks(strategy, parents):
    x, y = word_counts(N, 8, 3)
    learner = learner_of(x, classes=[*NAMES, "insect"], parents=parents)
    ask = partial(learner.query, strategy=strategy, wanted=NAMES[0])
    assert ask(1)[0].strategy in ("herding", "random")
    learner.label_many({item: NAMES[y[item]] for item in range(6)})
    for count in (1, 5):
        picks = ask(count, seed=1, pending=np.array([7, 8]))
        rows = [pick.row for pick in picks]
        assert len(set(rows)) == count
        assert not {*range(6), 7, 8} & set(rows)
        assert {pick.strategy for pick in picks} <= {strategy, STRATEGIES[strategy].then}
        assert [pick.row for pick in ask(count, seed=1, pending=np.array([7, 8]))] == rows


@pytest.mark.parametrize("settings", [HIK, {"kernel": "rbf"}, {"kernel": "linear"}])
def test_restored_bit_for_bit(settings):
    x, y = word_counts(N, 8, 3)
    learner = tree_learner(x[:-3], **settings)
    for item in range(12):
        learner.label(item, "insect" if item == 4 else NAMES[y[item]], noise_factor=1.0 + item % 2)
    learner.add_items(x[-3:] * 0.9)
    learner.tune()
    learner.retract(2)
    state = learner.dump()
    assert not any(array.dtype.hasobject for array in state.values())
    again = OnlineLearner.load(learner.settings, state)
    for name in ("mean", "variance", "labels", "nodes", "version"):
        assert np.array_equal(getattr(again, name), getattr(learner, name)), name
    for a, b in zip(again.moments(x), learner.moments(x), strict=True):
        assert np.array_equal(a, b)
    for one in (again, learner):
        one.label(20, "ant")
    assert np.allclose(again.mean, learner.mean, atol=1e-4)
    warm = OnlineLearner.load(learner.settings, learner.dump(refit=False))
    assert np.allclose(warm.moments(x)[0], learner.moments(x)[0], atol=1e-4)


@pytest.mark.jit
def test_a_training_is_found_again_from_its_parameters():
    x, y = word_counts(N, 8, 3)
    learner = tree_learner(x)
    learner.label_many({item: NAMES[y[item]] for item in range(16)})
    before = dict(learner.publish().hyperparameters)
    learner.tune()
    after = learner.publish().hyperparameters
    assert {"noise"} == {name for name in before if name.startswith("noise")}
    assert {"noise[1]", "noise[2]"} == {name for name in after if name.startswith("noise")}
    again = OnlineLearner.build(learner.settings, x, learner.labelling())
    assert np.allclose(again.mean, learner.mean, atol=1e-4)
    assert np.allclose(again.variance, learner.variance)
    # Noises belong to depths, not to nodes: a tree that grew has those of one that was always as large.
    for one in (learner, again):
        one.add_classes(["wasp"], {"wasp": "bee"})
    grown = OnlineLearner.build(learner.settings, x, learner.labelling())
    assert np.allclose(grown.mean, learner.mean, atol=1e-4)
    assert np.allclose(grown.variance, learner.variance)


@pytest.mark.jit
@pytest.mark.parametrize("train", [False, True])
def test_a_kernel_is_chosen_by_the_labels_of_classes(train):
    x, y = word_counts(N, 8, 3)
    learner = tree_learner(x, kernel="auto")
    learner.label_many({item: "insect" if item % 4 == 0 else NAMES[y[item]] for item in range(20)})
    built = OnlineLearner.build(learner.settings, x, learner.labelling(), train=train)
    assert (built.publish().choice is not None) == train
    assert built.labels.tolist() == learner.labels.tolist()


def test_nothing_is_changed_by_what_fails(monkeypatch):
    x, y = word_counts(N, 8, 3)
    learner = tree_learner(x)
    learner.label_many({item: NAMES[y[item]] for item in range(6)})
    before = learner.mean, learner.variance, learner.labels.tolist(), learner.nodes

    def fail(*_):
        raise MemoryError

    for change in (
        lambda: learner.label(7, "ant"),
        lambda: learner.label(7, "a new one"),
        lambda: learner.retract(1),
        lambda: learner.add_classes(["wasp"], {"wasp": "bee"}),
        lambda: learner.add_items(x * 0.9),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(SoftmaxPool, "means", fail)
            with pytest.raises(MemoryError):
                change()
        assert np.shares_memory(learner.mean, before[0])
        assert np.allclose(learner.variance, before[1])
        assert (learner.labels.tolist(), learner.nodes) == before[2:]
        assert np.allclose(learner.moments(x)[0], before[0])
    learner.label(7, "ant")
    check(learner, x, {**{item: NAMES[y[item]] for item in range(6)}, 7: "ant"})


@pytest.mark.jit
def test_what_others_say_of_a_label():
    """The first step towards a fit without the label is near that fit, and ranks surprises as it does."""
    x, y = word_counts(N, 8, 3)
    labels = {item: NAMES[y[item]] for item in range(16)} | {3: NAMES[(y[3] + 1) % 3], 5: "insect"}
    learner = tree_learner(x, noise=0.5)
    learner.label_many(labels)
    left_out = learner.publish().left_out
    truth = []
    for item in range(16):
        learner.retract(item)
        truth.append(softmax(learner.mean[item]))
        learner.label(item, labels[item])
    assert np.corrcoef(left_out.probabilities.ravel(), np.ravel(truth))[0, 1] > 0.9
    tree, numbers = learner.nodes.tree, left_out.labels
    own = tree.to_nodes(left_out.probabilities)[np.arange(16), numbers]
    assert own.argmin() == 3
    assert len(learner.estimates()) == 3


def test_what_each_column_adds():
    x, y = word_counts(N, 8, 3)
    for kernel in ("hik", "linear"):
        learner = tree_learner(x, kernel=kernel)
        learner.label_many({item: NAMES[y[item]] for item in range(12)})
        found = learner.contributions(3)
        assert np.allclose(found.parts.sum(axis=0) + found.constant, learner.mean[3])


def test_items_before_classes():
    x, _ = word_counts(N, 8, 3)
    learner = learner_of(x, classes=[])
    assert learner.mean.shape == (N, 0)
    assert learner.estimates()
    learner.label(0, "a")
    learner.label(1, "b")
    check(learner, x, {0: "a", 1: "b"})


@pytest.mark.parametrize(
    ("names", "parents", "message"),
    [
        (["a", "a"], {}, "named twice"),
        (["a"], {"a": "b"}, "there is no class 'b', which the tree names"),
        (["a"], {"b": "a"}, "there is no class 'b', which the tree names"),
        (["a"], {"a": "a"}, "'a' cannot be a kind of itself"),
        (["a", "b"], {"a": "b", "b": "a"}, "cannot be a kind of itself"),
        (list("abcdefghijklmnopqr"), dict(zip("bcdefghijklmnopqr", "abcdefghijklmnopq", strict=True)), "too deep"),
    ],
)
def test_trees_that_are_none(names, parents, message):
    with pytest.raises(ValueError, match=message):
        Nodes(tuple(names), parents)


def test_a_tree_needs_softmax():
    with pytest.raises(ValueError, match='a tree of classes needs likelihood="softmax"'):
        OnlineLearner(Settings(), ["a", "b"], parents={"a": "b"})
    with pytest.raises(ValueError, match="comes with its classes"):
        OnlineLearner(Settings(likelihood="softmax", tree={"a": "b"}))
    with pytest.raises(ValueError, match="cannot be merged into 'b', which is a kind of it"):
        Nodes(("a", "b"), {"b": "a"}).merged("a", "b")


def test_merged_classes_cost_no_more_than_a_fit():
    x, y = word_counts(40, 6, 3)
    learner = OnlineLearner(Settings(likelihood="softmax"), ["ant", "bee", "cat"])
    learner.add_items(x)
    learner.label_many({item: learner.classes[y[item]] for item in range(14)})
    learner.label(20, "cat")
    learner.merge_classes("cat", "ant")
    products = learner._model.model.solution.products
    learner._model.refit()
    assert products <= 4 * learner._model.model.solution.products


def test_items_that_are_added_are_known_at_once():
    x, y = word_counts(N, 8, 3)
    learner = OnlineLearner(Settings(likelihood="softmax"), NAMES[:3])
    learner.add_items(x[:-4])
    learner.label_many({item: NAMES[y[item]] for item in range(6)})
    learner.add_items(x[-4:] * 0.9)
    mean, variance = learner.moments(x[-4:] * 0.9)
    assert np.allclose(learner.mean[-4:], mean)
    assert np.allclose(learner.variance[-4:], variance)
    labelled = learner._model
    assert labelled.residual() == max(labelled.model.solution.gradient, labelled.spread.residual())


def test_doubts_count_alike_whether_labels_come_one_by_one_or_all_at_once():
    x, y = word_counts(N, 8, 3)
    learner = OnlineLearner(Settings(likelihood="softmax"), NAMES[:3])
    learner.add_items(x)
    for item in range(8):
        learner.label(item, NAMES[y[item]], noise_factor=1.0 + 3.0 * (item % 2))
    built = OnlineLearner.build(learner.settings, x, learner.labelling())
    assert np.allclose(built.mean, learner.mean, atol=1e-6)
    assert np.allclose(built.variance, learner.variance, atol=1e-6)


def test_one_name_is_moved_and_the_others_stay():
    nodes = Nodes(("ant", "bee", "animal", "insect"), {"ant": "insect", "bee": "insect"})
    assert nodes.moved("ant", "animal").parents == {"ant": "animal", "bee": "insect"}
    assert nodes.moved("ant", None).parents == {"bee": "insect"}
