from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax

from core import GPHIKClassifier, OnlineLearner, Settings
from core.factory import make_operator, make_reader, make_regression
from core.tuning import asked_sharpness, calibration, earlier_predictions, find_sharpness, leave_one_out, mean_gap
from tests.core.data import size, word_counts


def drawn(n, sharpness, seed=0):
    """Means of three classes, and labels that are drawn by their softmax."""
    rng = np.random.default_rng(seed)
    means = rng.normal(size=(n, 3)) / 3.0
    return means, np.array([rng.choice(3, p=p) for p in softmax(sharpness * means, axis=1)])


@pytest.mark.parametrize("sharpness", [0.5, 3.0, 20.0])
def test_the_sharpness_that_labels_were_drawn_with_is_found(sharpness):
    means, labels = drawn(4000, sharpness)
    assert find_sharpness(means, labels, mean_gap(means)) == pytest.approx(sharpness, rel=0.2)


def test_few_labels_hardly_move_it():
    means, labels = drawn(4, 3.0)
    gap = mean_gap(means)
    found = find_sharpness(means, means.argmax(axis=1), gap)
    assert np.log(found * gap / calibration.TYPICAL) == pytest.approx(0.0, abs=1.0)
    assert find_sharpness(means[:0], labels[:0], 0.5) == pytest.approx(calibration.TYPICAL / 0.5, rel=1e-3)


def test_gaps_are_between_the_best_two():
    assert mean_gap(np.array([[0.5, -0.5, 0.2], [0.1, 0.4, 0.0]])) == pytest.approx(0.3)
    assert mean_gap(np.array([[0.5], [0.1]])) == 1.0
    assert mean_gap(np.array([[8e-19, -8e-19]])) == 1.0  # rounding, of labels that contradict each other


@pytest.mark.jit
def test_stated_and_true_errors_agree_after_tuning():
    x, y = word_counts(size(1500, 200), 12, 4, seed=3)
    model = GPHIKClassifier(tune="loo").fit(x[:300], y[:300])
    stated, true = 1.0 - model.predict_proba(x[300:]).max(axis=1).mean(), 1.0 - model.score(x[300:], y[300:])
    assert stated == pytest.approx(true, abs=0.05)
    untuned = model._model
    untuned.sharpness = None
    assert abs(1.0 - model.predict_proba(x[300:]).max(axis=1).mean() - true) > abs(stated - true)


def test_a_learner_keeps_it_in_parameters_and_in_its_state():
    x, y = word_counts(60, 8, 3)
    learner = OnlineLearner(Settings(), ["a", "b", "c"])
    learner.add_items(x)
    learner.label_many({i: "abc"[y[i]] for i in range(30)})
    assert learner.labelling().parameters.sharpness is None
    learner.tune()
    found = learner.labelling().parameters.sharpness
    assert found is not None
    again = OnlineLearner.load(Settings(), learner.dump())
    assert again.labelling().parameters.sharpness == found
    assert np.allclose(again.publish().probabilities, learner.publish().probabilities, atol=1e-9)
    built = OnlineLearner.build(Settings(), x, learner.labelling())
    assert np.allclose(built.publish().probabilities, learner.publish().probabilities, atol=1e-8)
    outside = learner.predictive(x).probabilities
    assert np.allclose(outside, learner.publish().probabilities, atol=1e-8)


def asked(n=24, seed=0):
    x, y = word_counts(n, 8, 3, seed=seed)
    settings = Settings(noise=0.3)
    operator = make_operator(settings, x, make_reader(settings, x))
    return settings, operator, y, make_regression(settings, operator, y, 3)


def test_earlier_predictions_are_those_of_models_of_fewer_labels():
    settings, operator, y, model = asked()
    model.noise_factors = np.linspace(1.0, 2.0, len(y))
    model.refit()
    by_all_before, by_first_half, deviations = earlier_predictions(model)

    def means(first, of):
        few = make_regression(settings, operator.only(np.arange(first)), y[:first], 3)
        few.noise_factors = model.noise_factors[:first]
        few.refit()
        rows = operator.training_rows(of)
        return few.posterior.means(rows), few.posterior.variance(rows)

    for i in (1, 5, 23):
        mean, variance = means(i, np.array([i]))
        assert np.allclose(by_all_before[i], mean[0])
        assert deviations[i] ** 2 == pytest.approx(variance[0] + 0.3 * model.noise_factors[i])
    assert np.allclose(by_first_half, means(12, np.arange(12, 24))[0])


def test_earlier_predictions_of_the_same_row_again():
    settings, operator, y, _ = asked(100)
    rows = np.repeat(np.arange(100), 2)
    model = make_regression(replace(settings, noise=1e-18), operator.only(rows), y[rows], 3)
    for found in earlier_predictions(model):
        assert np.isfinite(found).all()


def test_weights_count_labels():
    means, labels = drawn(30, 3.0)
    twice = find_sharpness(np.vstack([means, means[:10]]), np.append(labels, labels[:10]), 0.5)
    weights = np.where(np.arange(30) < 10, 2.0, 1.0)
    assert find_sharpness(means, labels, 0.5, weights) == pytest.approx(twice, rel=1e-4)


def test_labels_count_half_by_what_was_said_before_they_came_and_drawn_ones_more(monkeypatch):
    _, _, y, model = asked(60)
    by_all_before, _, deviations = earlier_predictions(model)
    both = np.vstack([leave_one_out(model)[0], by_all_before[15:] / deviations[15:, None]])
    twice, half = np.append(y, y[15:]), np.full(105, 0.5)
    none = np.zeros(60, dtype=bool)
    assert asked_sharpness(model, 0.5, 1.0, none) == find_sharpness(both, twice, 0.5, half)
    some = np.arange(60) % 7 == 3
    half[60:][some[15:]] *= 4.0
    assert asked_sharpness(model, 0.5, 1.0, some) == find_sharpness(both, twice, 0.5, half)
    monkeypatch.setattr(calibration, "MANY", 59)
    assert asked_sharpness(model, 0.5, 1.0, some) == find_sharpness(leave_one_out(model)[0], y, 0.5)


def test_items_drawn_at_random_tell_a_learner_how_sure_it_may_be():
    x, y = word_counts(120, 8, 3, seed=1)
    found = {}
    for right in (True, False):
        learner = OnlineLearner(Settings(), ["a", "b", "c"])
        learner.add_items(x)
        for i in range(40):
            guess = i >= 3 and learner.predicted(np.array([i]))[0] == y[i]
            learner.label_many({i: "abc"[y[i]]}, drawn=[i] if guess == right else ())
        built = OnlineLearner.build(Settings(), x, learner.labelling(), train=True)
        learner.tune()
        found[right] = learner.labelling().parameters.sharpness
        assert built.labelling().parameters.sharpness == pytest.approx(found[right], rel=1e-6)
    assert found[True] > 1.2 * found[False]
