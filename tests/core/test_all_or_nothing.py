"""A call that fails or is interrupted leaves what was there, to the last bit, and the next one knows nothing of it."""

import os
import re
from functools import partial

import numpy as np
import pytest

from core import GPHIKClassifier, GPHIKForestClassifier, OnlineLearner, Settings
from core.classes import ClassTree
from core.kernels import LinearKernel
from core.linalg import DenseOperator
from core.posterior import LabelRegression
from core.softmax import Prior, SoftmaxRegression
from tests.core.data import word_counts
from tests.core.interrupts import (
    EARLY,
    TORTURE,
    at_arrays,
    at_lines,
    counted,
    cut_off_in_copies,
    is_from,
    places,
    raising,
    ways,
)

pytestmark = [
    pytest.mark.jit,  # kernels are one step each
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),  # copies are of threads that do nothing
]

FEW = 4  # places to be cut off at, by either kind
CUTS = ((at_lines, KeyboardInterrupt), (at_arrays, MemoryError))
N, M, D = 48, 3, 6
X, Y = word_counts(N, D, M)
PROBE = word_counts(7, D, M, seed=1)[0] * 0.9
MORE = word_counts(5, D, M, seed=2)[0] * 0.7  # values that are no level yet
NAMES = ["ant", "bee", "cat"]


def check_cut_off(make, change, facts, tolerance=0.0):
    first = make()
    change(make())  # whatever is made once, such as compiled kernels
    before = facts(first)
    last, _ = counted(partial(change, first))

    def made():
        """Cut off at the last step, so that what is kept for later is the same in all."""
        one = make()
        assert_same(facts(one), before)
        with pytest.raises(KeyboardInterrupt), at_lines([last], raising(KeyboardInterrupt)):
            change(one)
        return one

    whole, thing = made(), made()
    totals = counted(partial(change, whole))
    for (at, error), total in zip(CUTS, totals, strict=True):
        steps = places(total, FEW)
        if TORTURE:
            those, one = ways(at, partial(change, made()), total), made()
            late = [step for step in those if step > EARLY]
            cut_off_in_copies(at, late, error, partial(change, one), partial(check_facts, facts, one, before))
            assert_same(facts(one), facts(whole), tolerance)
            steps = [step for step in those if step <= EARLY]
        for step in steps:
            with pytest.raises(BaseException) as found, at([step], raising(error)):  # noqa: PT011 - looked at below
                change(thing)
            assert is_from(found.value, error)
            assert_same(facts(thing), before)
    change(thing)
    for one in (first, whole):
        assert_same(facts(thing), facts(one), tolerance)


def check_facts(facts, thing, expected):
    assert_same(facts(thing), expected)


def assert_same(found, expected, tolerance=0.0):
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            assert np.allclose(found[name], value, rtol=0.0, atol=tolerance), name
        elif isinstance(value, np.ndarray):
            assert np.array_equal(found[name], value), name
        else:
            assert found[name] == value, name


def test_half_a_change_is_found():
    """By the copies, which `make test` has no other use for."""

    def change(thing):
        thing["a"] = np.zeros(1).sum() + 1
        thing["b"] = np.zeros(1).sum() + 1

    def swallow(thing):
        try:
            change(thing)
        except MemoryError:
            thing.clear()

    for run, found in ((change, [2]), (swallow, [1, 2])):
        thing = {}
        check = partial(check_facts, dict, thing, {})
        with pytest.raises(AssertionError, match=re.escape(str(found))):
            cut_off_in_copies(at_arrays, [1, 2], MemoryError, partial(run, thing), check)


def test_a_copy_is_cut_off_once():
    """Not again while it puts things back."""
    reader, writer = os.pipe()

    def change():
        try:
            np.zeros(1)
            np.zeros(1)
        except MemoryError:
            np.zeros(1)
            raise

    cut_off_in_copies(at_arrays, [1, 2], MemoryError, change, lambda: os.write(writer, b"."))
    os.close(writer)
    with open(reader, "rb") as ended:
        assert ended.read() == b".."


def learner_of(settings, parents=None):
    classes = [*NAMES, *(parents or {}).values()]
    learner = OnlineLearner(Settings(**settings), classes, parents=parents)
    learner.add_items(X)
    learner.label_many({item: NAMES[Y[item]] for item in range(0, 24, 2)}, {2: 3.0})
    for item in (1, 3, 5, 7):
        learner.label(item, NAMES[Y[item]])
    learner.retract(3)
    if learner.settings.model == "forest":
        learner.tune()
    return learner


def learner_facts(learner):
    seen, known = learner.publish(), learner.dump(refit=False)
    known.pop("level_lineage", None)  # made up anew by every learner
    mean, variance, probabilities, _ = learner.predictive(PROBE)
    asked = [pick.row for pick in learner.query(3)]
    return {
        **known,
        "given": learner.nodes,
        "hyperparameters": seen.hyperparameters,
        "solver": seen.solver,
        "pool": seen.probabilities,
        "left_out": seen.left_out.probabilities,
        "outside": np.column_stack([mean, variance, probabilities]),
        "asked": asked,
    }


LEARNERS = {
    "dual": {"posterior": "dual"},
    "levels": {"posterior": "levels"},
    "iterative": {"posterior": "iterative"},
    "balance": {"balance": True},
    "rbf": {"kernel": "rbf"},
    "softmax": {"likelihood": "softmax"},
    "softmax rbf": {"likelihood": "softmax", "kernel": "rbf"},
    "forest": {"model": "forest", "n_trees": 2, "leaf_size": 6},
    "forest rbf": {"model": "forest", "n_trees": 2, "leaf_size": 6, "kernel": "rbf"},
}
LEARNER_CHANGES = {
    "label": lambda learner: learner.label(30, "bee", drawn=True),
    "label with a new class": lambda learner: learner.label(30, "dodo"),
    "label again": lambda learner: learner.label(4, "cat" if Y[4] != 2 else "ant"),
    "label with another noise factor": lambda learner: learner.label(4, NAMES[Y[4]], noise_factor=2.0),
    "label many": lambda learner: learner.label_many({item: NAMES[Y[item]] for item in (25, 27, 29)}),
    "label more": lambda learner: learner.label_many({item: NAMES[Y[item]] for item in range(24, 48)}, refresh=False),
    "retract": lambda learner: learner.retract(6),
    "add items": lambda learner: learner.add_items(MORE),
    "merge classes": lambda learner: learner.merge_classes("cat", "ant"),
    "rename a class": lambda learner: learner.rename_class("cat", "civet"),
    "remember": lambda learner: learner.remember({40: (1, 12, 60)}),
    "tune": lambda learner: learner.tune(),
    "dump": lambda learner: learner.dump(),
}


@pytest.mark.parametrize("change", LEARNER_CHANGES)
@pytest.mark.parametrize("name", LEARNERS)
def test_learners(name, change):
    check_cut_off(partial(learner_of, LEARNERS[name]), LEARNER_CHANGES[change], learner_facts)


@pytest.mark.parametrize(
    "change",
    [
        lambda learner: learner.label(31, "insect"),
        lambda learner: learner.move_class("cat", "insect"),
        lambda learner: learner.add_classes(["fly"], {"fly": "insect"}),
    ],
)
def test_learners_with_a_tree(change):
    make = partial(learner_of, {"likelihood": "softmax"}, {"ant": "insect"})
    check_cut_off(make, change, learner_facts)


def test_the_first_items():
    check_cut_off(
        lambda: OnlineLearner(Settings(), NAMES),
        lambda learner: learner.add_items(X),
        lambda learner: {"items": len(learner), "version": learner.version},
    )


def classifier_of(settings):
    return GPHIKClassifier(**settings).fit(X[:24], np.array(NAMES)[Y[:24]])


def in_chunks():
    return GPHIKClassifier().fit_chunks([(X[:12], Y[:12]), (X[12:24], Y[12:24])])


def classifier_facts(model):
    probe = PROBE[:, : model.n_features_in_]
    return {
        "means": model.means(probe),
        "probabilities": model.predict_proba(probe),
        "variance": model.predict_variance(probe),
        "classes": model.classes_.tolist(),
        "parameters": model.parameters_,
        "posterior": model.posterior_,
        "levels": model.n_levels_,
        "columns": model.n_features_in_,
        "labels": model._model.labels,
    }


CLASSIFIERS = {
    "dual": {"posterior": "dual"},
    "levels": {"posterior": "levels"},
    "iterative": {"posterior": "iterative"},
    "balance": {"balance": True},
    "linear": {"kernel": "linear"},
    "auto": {"kernel": "auto"},
    "softmax": {"likelihood": "softmax"},
    "softmax linear": {"likelihood": "softmax", "kernel": "linear"},
    "softmax tree": {"likelihood": "softmax", "tree": {"ant": "insect", "bee": "insect"}},
}
CLASSIFIER_CHANGES = {
    "fit": lambda model: model.fit(X[24:40, :5], np.array(NAMES)[Y[24:40]]),
    "partial_fit": lambda model: model.partial_fit(MORE[:2], ["ant", "dodo"]),
    "forget": lambda model: model.forget([2, 5]),
    "relabel": lambda model: model.relabel([1], ["emu"]),
    "tune": lambda model: model.tune(),
}


CLASSIFIER_CASES = [
    (name, change)
    for name in CLASSIFIERS
    for change in CLASSIFIER_CHANGES
    if TORTURE or name == "softmax" or not (name.startswith("softmax") and change == "tune")  # some seconds each
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("name", "change"), CLASSIFIER_CASES)
def test_classifiers(name, change):
    check_cut_off(partial(classifier_of, CLASSIFIERS[name]), CLASSIFIER_CHANGES[change], classifier_facts)


@pytest.mark.parametrize(
    "change", [lambda model: model.partial_fit(MORE, [0, 1, 2, 3, 3]), lambda model: model.fit_chunks([(X, Y), (X, Y)])]
)
def test_rows_in_chunks(change):
    check_cut_off(in_chunks, change, classifier_facts)


def forest_of(settings):
    return GPHIKForestClassifier(n_trees=2, leaf_size=8, **settings).fit(X[:36], np.array(NAMES)[Y[:36]])


def forest_facts(model):
    probe = PROBE[:, : model.n_features_in_]
    return {
        **model.dump(),
        "probabilities": model.predict_proba(probe),
        "variance": model.predict_variance(probe),
        "tuned": getattr(model, "tuned_", None) is not None,
    }


FOREST_CHANGES = {
    "fit": lambda model: model.fit(X[24:40, :5], np.array(NAMES)[Y[24:40]]),
    "partial_fit": lambda model: model.partial_fit(X[30:], np.array([*NAMES, "dodo"])[[*Y[30:-1], 3]]),
    "forget": lambda model: model.forget([2, 5]),
    "relabel": lambda model: model.relabel([1], ["emu"]),
    "tune": lambda model: model.tune(),
    "load": lambda model: model.load(OTHER_STATE),
}
OTHER_STATE = GPHIKForestClassifier(n_trees=1, leaf_size=8).fit(X[5:30], Y[5:30]).dump()


@pytest.mark.parametrize("change", FOREST_CHANGES)
@pytest.mark.parametrize("settings", [{}, {"tune": "loo", "own": True}])
def test_forests(settings, change):
    check_cut_off(partial(forest_of, settings), FOREST_CHANGES[change], forest_facts)


def test_forests_that_are_short_of_memory():
    # A leaf that was dropped is solved again, by whoever asks it first: from scratch, which is not the same to the bit.
    for change in FOREST_CHANGES.values():
        check_cut_off(partial(forest_of, {"max_memory": 30000.0}), change, forest_facts, tolerance=1e-9)


def test_label_regression_under_another_kernel():
    check_cut_off(
        lambda: LabelRegression(DenseOperator(X, linear(1.0)), Y, M, noise=0.1),
        lambda model: model.reset(linear(5.0), 1e-6),
        lambda model: {
            "means": model.posterior.means(PROBE),
            "noise": model.noise,
            "theta": model.operator.kernel.theta,
        },
    )


def test_softmax_under_another_prior():
    tree = ClassTree.flat(M)
    check_cut_off(
        lambda: SoftmaxRegression(DenseOperator(X, linear(0.0)), Y, Prior.shared(tree, linear(0.0), 3.0)),
        lambda model: model.reset(Prior.shared(tree, linear(0.0), 30.0)),
        lambda model: {"latents": model.latents(PROBE), "variances": model.prior.variances, "weights": model.weights},
    )


def linear(bias):
    return LinearKernel(np.ones(1), np.zeros(D, dtype=np.int64), bias)


def test_drafts_share_nothing_that_changes():
    """Whoever has the twin of a learner keeps it, whatever happens to the learner."""
    for settings in LEARNERS.values():
        learner = learner_of(settings)
        twin, before = learner.draft(), learner_facts(learner)
        learner.retract(6)
        learner.label(8, "bee", noise_factor=2.0)
        learner.label(40, "cat")
        learner.add_items(MORE)
        assert_same(learner_facts(twin), before)


@pytest.mark.parametrize("name", LEARNERS)
def test_readers_never_see_half_a_change(name):
    """Whenever somebody looks, a change has been made whole or not at all."""
    changes = [LEARNER_CHANGES[change] for change in ("label with a new class", "retract", "add items")]
    for change in changes:
        before, seen = learner_facts(learner_of(LEARNERS[name])), []
        lines, _ = counted(partial(change, learner_of(LEARNERS[name])))
        for place in places(lines, 3):
            learner = learner_of(LEARNERS[name])
            with at_lines([place], lambda learner=learner, seen=seen: seen.append(learner_facts(learner))):
                change(learner)
        assert seen
        for facts in seen:
            assert_same(facts, before)


def test_a_published_state_is_of_one_moment():
    """A change that comes between two looks at the learner, as in another thread."""
    learner = learner_of({})
    lines, _ = counted(learner_of({}).publish)
    counts = {learner.version + place: int((learner.labels >= 0).sum()) for place in (0, 1)}
    counts[learner.version + 1] += 1
    for place in range(1, lines + 1):
        learner = learner_of({})
        with at_lines([place], lambda learner=learner: learner.label(30, "bee")):
            seen = learner.publish()
        assert (seen.labels >= 0).sum() == counts[seen.version]
        assert (seen.labels[30] >= 0) == (seen.variance[30] < learner_of({}).variance[30] - 1e-3)
