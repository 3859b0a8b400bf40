import numpy as np
import pytest

from core import Labelling, OnlineLearner, Parameters, Settings
from tests.core.data import word_counts
from tests.core.learner.test_learner import NAMES, N, check, learner_of


def products(n):
    """Classes that only a kernel of both columns together can tell."""
    x = np.random.default_rng(0).normal(size=(n, 2))
    return x, (x[:, 0] * x[:, 1] > 0).astype(int)


@pytest.mark.jit
def test_auto_begins_with_what_fits_and_goes_over_to_what_wins():
    x, y = products(200)
    settings = Settings(kernel="auto")
    assert OnlineLearner.build(settings, np.abs(x), Labelling(("a",))).labelling().parameters.kernel == "hik"
    learner = OnlineLearner(settings, ["no", "yes"], Parameters(kernel="complement"))
    learner.add_items(x)
    for item in range(60):
        learner.label(item, ["no", "yes"][y[item]])
    trained = OnlineLearner.build(settings, x, learner.labelling(), train=True)
    found = trained.labelling().parameters
    assert found.kernel == "rbf"
    assert found.kernel_chosen_at == 60
    choice = trained.publish().choice
    assert choice is not None
    assert str(choice).startswith("rbf: leave-one-out squared error")
    assert np.mean(trained.mean[60:].argmax(axis=1) == y[60:]) > 0.85
    for item in range(60, 70):
        trained.label(item, ["no", "yes"][y[item]])
    again = OnlineLearner.build(settings, x, trained.labelling(), train=True)
    assert again.labelling().parameters.kernel_chosen_at == 60  # not doubled yet
    restored = OnlineLearner.load(settings, trained.dump())
    assert np.array_equal(restored.mean, trained.mean)
    assert restored.labelling().parameters == trained.labelling().parameters
    rebuilt = OnlineLearner.build(settings, x, trained.labelling())
    assert np.allclose(rebuilt.mean, trained.mean, atol=1e-8)
    assert np.allclose(rebuilt.variance, trained.variance, atol=1e-8)


@pytest.mark.parametrize(
    "settings",
    [{}, {"levels": 4}, {"normalise": True}, {"complement": True}, {"split": True}, {"balance": True}],
    ids=str,
)
def test_a_learner_built_at_once_equals_one_that_learnt_step_by_step(settings):
    x, y = word_counts(N, 8, 3)
    learner = learner_of(x, **settings)
    for item in range(12):
        learner.label(item, NAMES[y[item]], noise_factor=1.0 + item % 2)
    learner.retract(3)
    learner.label(5, "dodo")
    built = OnlineLearner.build(learner.settings, x, learner.labelling())
    assert np.allclose(built.mean, learner.mean, atol=1e-9)
    assert np.allclose(built.variance, learner.variance, atol=1e-9)
    assert built.classes == learner.classes
    cheap = OnlineLearner.load(learner.settings, learner.dump(refit=False))
    assert np.array_equal(cheap.mean, learner.mean)
    cheap.label(20, "ant")
    learner.label(20, "ant")
    assert np.allclose(cheap.mean, learner.mean, atol=1e-9)


@pytest.mark.parametrize("balance", [False, True])
def test_classes_are_announced_renamed_and_merged(balance):
    x, y = word_counts(N, 8, 3)
    learner = learner_of(x, balance=balance)
    labels = {item: y[item] for item in range(9)}
    for item, number in labels.items():
        learner.label(item, NAMES[number])
    learner.add_classes(["dodo"])
    learner.rename_class("bee", "wasp")
    assert learner.classes == ["ant", "wasp", "cat", "dodo"]
    check(learner, x, labels, balance=balance)
    learner.merge_classes("ant", "cat")
    assert learner.classes == ["wasp", "cat", "dodo"]
    check(learner, x, {item: 0 if number == 1 else 1 for item, number in labels.items()}, balance=balance)
    for call, message in [
        (lambda: learner.add_classes(["cat"]), "named twice"),
        (lambda: learner.rename_class("cat", "wasp"), "named twice"),
        (lambda: learner.rename_class("cow", "bull"), "there is no class 'cow'"),
        (lambda: learner.merge_classes("cat", "cat"), "into itself"),
    ]:
        with pytest.raises(ValueError, match=message):
            call()


def test_questions_may_be_restricted_to_some_items():
    x, y = word_counts(N, 8, 3)
    learner = learner_of(x)
    assert {p.row for p in learner.query(3, among=np.array([4, 7]))} == {4, 7}
    for item in range(5):
        learner.label(item, NAMES[y[item]])
    assert {p.row for p in learner.query(3, among=np.array([4, 7, 9]))} == {7, 9}
    with pytest.raises(ValueError, match="among items must be"):
        learner.query(1, among=np.array([N]))


def test_a_search_that_is_cancelled_changes_nothing():
    x, y = word_counts(N, 8, 3)
    learner = learner_of(x)
    for item in range(12):
        learner.label(item, NAMES[y[item]])
    before, steps = learner.mean, []

    def cancel():
        steps.append(1)
        if len(steps) == 3:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        learner.tune(on_step=cancel)
    assert np.array_equal(learner.mean, before)
    assert len(steps) == 3


@pytest.mark.parametrize("kernel", ["hik", "rbf"])
def test_a_training_that_keeps_hyperparameters_knows_the_labels(kernel):
    x = np.random.default_rng(0).random((40, 3))
    labelling = Labelling(
        ("a", "b"), {item: "ab"[int(x[item, 0] > 0.5)] for item in range(30)}, dict.fromkeys(range(30), 1.0)
    )
    settings = Settings(kernel=kernel, tune="none", noise=0.2)
    trained, built = (OnlineLearner.build(settings, x, labelling, train=train) for train in (True, False))
    items = np.arange(len(x))
    for found, expected in zip(trained.publish().moments(items), built.publish().moments(items), strict=True):
        assert np.allclose(found, expected)
    assert trained.residual() < 1e-9
    assert trained.publish().hyperparameters == built.publish().hyperparameters
    assert trained.labelling().parameters.sharpness is not None
