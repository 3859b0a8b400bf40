import sys
from collections import Counter

import numpy as np
import pytest

from core import Channel, GPHIKClassifier, OnlineLearner, Parameters, Settings
from core.histograms import Histograms
from core.kernels import IntersectionKernel, RBFKernel, SumKernel
from core.linalg import DenseOperator, HistogramOperator, Units
from core.posterior import LabelRegression
from core.tuning import (
    DualCriterion,
    Evaluation,
    Setting,
    bounds_met,
    criterion_for,
    gradient_search,
    leave_one_out,
    simplex_search,
    starts,
    tune,
)
from core.tuning.search import NOISE_BOUNDS, best_noise
from core.tuning.tune import with_prior
from tests.core.data import continuous, size, word_counts


class Bowl:
    """A criterion with its lowest point at eta = 2, noise = 0.3, weight = 0.5."""

    goal = np.log([2.0, 0.3, 0.5])

    def __call__(self, kernel, noise, *, gradient=False):
        away = np.log([kernel.eta, noise, kernel.weights[0]]) - self.goal
        by_theta = np.array([2 * away[0] / kernel.eta, 0.0, 2 * away[2] / kernel.weights[0]])
        return Evaluation(float(away @ away), 1.0, by_theta, float(2 * away[1]))


START = Setting(IntersectionKernel(np.ones(1), np.zeros(1, dtype=int), 1.0, "power", 1.0), 0.1, ("eta", "noise"))


def test_the_simplex_finds_the_bottom_and_a_warm_one_needs_a_third_of_the_evaluations():
    cold = simplex_search(Bowl(), START)
    assert cold.setting.kernel.eta == pytest.approx(2.0, rel=0.1)
    assert cold.setting.noise == pytest.approx(0.3, rel=0.1)
    assert cold.setting.kernel.bias == 1.0  # not free
    warm = simplex_search(Bowl(), cold.setting, cold.simplex)
    assert warm.evaluations <= cold.evaluations / 3
    assert warm.evaluation.value <= cold.evaluation.value


def test_the_gradient_search_finds_it_too_and_penalties_pull_weights_down():
    start = Setting(START.kernel, START.noise, ("eta", "noise", "weight[0]"))
    found = gradient_search(Bowl(), start)
    assert [found.setting.kernel.eta, found.setting.noise, found.setting.kernel.weights[0]] == pytest.approx(
        [2.0, 0.3, 0.5], rel=1e-4
    )
    assert gradient_search(Bowl(), start, l1=1.0).setting.kernel.weights[0] < 0.45
    assert gradient_search(Bowl(), start, l2=1.0).setting.kernel.weights[0] < 0.45


def test_a_search_tells_its_value_with_penalties_and_how_often_it_looked():
    seen = []

    class Watched(Bowl):
        def __call__(self, kernel, noise, *, gradient=False):
            seen.append(noise)
            return super().__call__(kernel, noise, gradient=gradient)

    start = Setting(START.kernel, START.noise, ("eta", "noise", "weight[0]"))
    found = gradient_search(Watched(), start, l1=0.3, l2=0.2)
    weight = found.setting.kernel.weights[0]
    assert found.value == pytest.approx(found.evaluation.value + 0.3 * weight + 0.2 * weight**2)
    assert found.evaluations == len(seen)
    slope = 2 * (np.log(weight) - Bowl.goal[2]) + 0.3 * weight + 2 * 0.2 * weight**2
    assert slope == pytest.approx(0.0, abs=1e-3)


def test_a_search_starts_at_the_best_noise_of_a_ladder():
    found = best_noise(Bowl(), Setting(START.kernel, 30.0, START.free))
    assert found.noise == pytest.approx(0.3)
    assert found.kernel.eta == START.kernel.eta
    assert best_noise(Bowl(), Setting(START.kernel, 0.2, START.free)).noise == pytest.approx(0.2)


def test_settings_are_near_within_a_factor_of_two():
    def at(eta=1.0, weight=3.0, noise=0.1):
        return Setting(IntersectionKernel(np.array([weight]), np.zeros(1, dtype=int), 1.0, "power", eta), noise, ())

    for near in (at(), at(eta=1.9), at(eta=0.55), at(weight=5.7), at(noise=0.06)):
        assert near.is_near(at())
        assert at().is_near(near)
    for far in (at(eta=2.1), at(weight=1.4), at(weight=0.0), at(noise=0.3)):
        assert not far.is_near(at())
        assert not at().is_near(far)
    assert at(weight=0.0).is_near(at(weight=0.0))


def rbf(gamma):
    return RBFKernel(np.ones(1), np.zeros(1, dtype=int), 1.0, gamma)


UNITS = Units.of([DenseOperator(np.array([[0.0], [2.0]]), rbf(1.0))])  # a distance of 4


def test_searches_begin_at_the_settings_and_where_the_last_one_ended():
    class Best:
        def __call__(self, kernel, noise, *, gradient=False):
            return Evaluation(abs(np.log(noise)), 1.0)

    def begins(settings, now):
        return [(round(s.kernel.gamma, 6), round(s.noise, 6)) for s in starts(Best(), UNITS, settings, now, ("noise",))]

    settings = rbf(0.5), 1.0
    assert begins(None, settings) == begins(settings, settings) == [(2.0, 1.0)]
    assert begins(settings, (rbf(0.75).scaled(5.0), 6.0)) == [(3.0, 1.2)]  # so near that one search does
    assert begins(settings, (rbf(0.5), 3.0)) == [(2.0, 3.0), (2.0, 1.0)]
    assert begins(settings, (rbf(5.0), 1.0)) == [(20.0, 1.0), (2.0, 1.0)]


def test_what_ended_at_a_bound_is_told_with_the_values_in_use():
    low, high = NOISE_BOUNDS
    (upper,) = bounds_met(UNITS, Setting(rbf(1.0), high, ("noise", "gamma")), 3.0)
    assert (upper.parameter, upper.bound, upper.upper) == ("noise", pytest.approx(high), True)
    assert upper.value == pytest.approx(3.0 * high)
    (gamma,) = bounds_met(UNITS, Setting(rbf(1e4), low, ("noise", "gamma")), 3.0)  # noise may be as small as can be
    assert (gamma.upper, gamma.value) == (True, pytest.approx(2500.0))
    (gamma,) = bounds_met(UNITS, Setting(rbf(1e-6), 0.1, ("noise", "gamma")), 3.0)
    assert (gamma.upper, gamma.bound) == (False, pytest.approx(1e-6))


def test_parameters_stay_within_their_bounds():
    class Slope:
        def __call__(self, kernel, noise, *, gradient=False):
            return Evaluation(float(np.log(noise)), 1.0, np.zeros(3), 1.0)

    for search in (simplex_search, gradient_search):
        assert search(Slope(), START).setting.noise == pytest.approx(1e-4)


@pytest.mark.jit
@pytest.mark.parametrize("posterior", ["dual", "levels"])
@pytest.mark.parametrize("criterion", ["loo", "evidence"])
def test_tuning_lowers_the_criterion_and_calibrates(posterior, criterion):
    x, y = word_counts(300, 30, 3, words=25)
    plain = GPHIKClassifier(posterior=posterior, transform="power", noise=3.0).fit(x, y)
    tuned = GPHIKClassifier(posterior=posterior, transform="power", noise=3.0, tune=criterion).fit(x, y)
    values = {}
    for name, model in (("plain", plain), ("tuned", tuned)):
        found = criterion_for(model._model, criterion)(model._model.operator.kernel, model._model.noise)
        values[name] = found.value
        if name == "tuned":
            assert found.amplitude == pytest.approx(1.0, rel=1e-6)
    assert values["tuned"] < values["plain"]
    assert tuned.tuned_.criterion == criterion
    assert tuned.tuned_.evaluations > 5
    assert tuned.parameters_["eta"] != 1.0
    cold = tuned.tuned_.evaluations
    more, labels = word_counts(3, 30, 3, words=25, seed=9)
    tuned.partial_fit(more, labels).tune()
    assert tuned.tuned_.evaluations <= 1.5 * cold  # the warm search, beside the one from the settings


@pytest.mark.jit
def test_the_bound_tunes_an_iterative_posterior_and_loo_takes_a_sample(monkeypatch):
    monkeypatch.setattr(sys.modules["core.tuning.tune"], "SAMPLE_ROWS", 500)
    x, y = word_counts(700, 40, 3, words=25)
    for criterion in ("bound", "loo"):
        model = GPHIKClassifier(posterior="iterative", noise=2.0, tune=criterion).fit(x, y)
        assert model.tuned_.evaluations > 3
        assert 0.0 < model.parameters_["noise"] < 2.0
        assert model.residual_ < 1e-7


@pytest.mark.filterwarnings("ignore:the search for noise ended at its upper bound")  # nothing is linear here
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_dense_kernels_are_tuned(kernel):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 3))
    y = (x[:, 0] * x[:, 1] > 0).astype(int)
    model = GPHIKClassifier(kernel=kernel, tune="loo").fit(x, y)
    assert model.tuned_.value <= 1.2
    assert set(model.parameters_) >= {"noise", "bias"}


def test_nothing_to_tune():
    assert not hasattr(GPHIKClassifier(tune="loo").fit([[1.0], [2.0]], [0, 1]), "tuned_")
    assert not hasattr(GPHIKClassifier(tune="loo").fit(np.ones((9, 1)), np.zeros(9)), "tuned_")


@pytest.mark.jit
@pytest.mark.filterwarnings("ignore:the search for noise ended at its lower bound")  # some seeds are told apart exactly
def test_feature_relevance():
    """Rodner2012, section 6.5: eight dimensions, only the first two tell the classes apart; the weights find them."""
    hits = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        n = 60
        y = np.arange(n) % 2
        x = rng.gamma(2.0, size=(n, 8))
        x[:, 0] += 4.0 * y
        x[:, 1] += 4.0 * (1 - y)
        x /= x.sum(axis=1, keepdims=True)
        model = GPHIKClassifier(weights=np.ones(8), tune="evidence", tune_weights=True, l1=0.1, levels=None).fit(x, y)
        found = np.array([model.parameters_[f"weight[{d}]"] for d in range(8)])
        hits += found[:2].sum() > 0.6 * found.sum()
    assert hits >= 9


@pytest.mark.jit
def test_a_thousand_weights_are_learnt_in_one_run():
    rng = np.random.default_rng(0)
    n, d = 400, 1000
    y = np.arange(n) % 2
    x = rng.random((n, d)) * (rng.random((n, d)) < 0.1)
    x[:, :5] = rng.random((n, 5)) + 0.5 * y[:, None]  # each tells a little
    before = GPHIKClassifier(weights=np.ones(d), noise=0.3, levels=None).fit(x[:200], y[:200])
    model = GPHIKClassifier(weights=np.ones(d), noise=0.3, tune="evidence", tune_weights=True, l1=10.0, levels=None)
    model.fit(x[:200], y[:200])
    found = np.array([model.parameters_[f"weight[{k}]"] for k in range(d)])
    assert found[:5].sum() > 10 * found[5:].sum()
    assert model.score(x[200:], y[200:]) > before.score(x[200:], y[200:])


@pytest.mark.filterwarnings("ignore:the search for noise ended at its lower bound")  # the words tell it exactly
@pytest.mark.parametrize("criterion", ["loo", "evidence"])
def test_a_useless_channel_is_driven_to_nothing(criterion):
    useful, y = word_counts(size(150, 60), 8, 3, words=30)
    noise = continuous(len(useful), 8, seed=3)
    x = np.hstack([useful, noise / noise.sum(axis=1, keepdims=True)])
    groups = np.repeat([0, 1], 8)
    model = GPHIKClassifier(
        groups=groups, weights=[1.0, 1.0], tune=criterion, tune_weights=True, l1=0.01, levels=None
    ).fit(x, y)
    found = model.parameters_
    assert found["weight[1]"] < 0.05 * found["weight[0]"]


def test_weights_of_many_rows_are_found_on_some_of_them_and_refined_on_all(monkeypatch):
    module, looks, criterion = sys.modules[tune.__module__], Counter(), DualCriterion.__call__
    monkeypatch.setattr(
        DualCriterion, "__call__", lambda self, *a, **b: looks.update([len(self._targets)]) or criterion(self, *a, **b)
    )
    x, y = word_counts(120, 8, 3, words=6)  # few words: the classes overlap
    kernel = IntersectionKernel(np.ones(2), np.arange(8) % 2, 1.0)
    model = LabelRegression(HistogramOperator(Histograms.of(x), kernel), y, 3, noise=0.1, rule="dual")
    plain = tune(model, weights=True)
    searched = looks[120]
    monkeypatch.setattr(module, "ROUGH_ROWS", 50)
    looks.clear()
    found = tune(model, weights=True)
    assert 0 < looks[120] < searched
    assert looks[50] > looks[120]
    assert found.value < plain.value * 1.01


@pytest.mark.parametrize("search", [simplex_search, gradient_search])
def test_what_on_step_raises_ends_the_search(search):
    def stop():
        raise ValueError("enough")  # of the kind that a criterion may raise, too

    with pytest.raises(ValueError, match="enough"):
        search(Bowl(), START, on_step=stop)


def balances(n, seed=0):
    """Rows of 18 marks, half of them on either side, and which side has one more: each tells nothing, all together tell
    it exactly; n x 18, n."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 2, size=(8 * n, 18)).astype(np.float64)
    weight = x[:, :9].sum(axis=1) - x[:, 9:].sum(axis=1)
    kept = np.flatnonzero((weight == 0) | (weight == 1))[:n]
    return x[kept], weight[kept].astype(int)


@pytest.mark.jit
@pytest.mark.parametrize(("likelihood", "labels"), [("gaussian", 26), ("softmax", 60)])
def test_a_search_leaves_a_valley_that_an_earlier_one_fell_into(likelihood, labels):
    x, y = balances(200)
    nothing = Parameters(theta=(1.0, 1e-4, 1e-4, 1.0))  # eta, bias, weight and noise of a training that saw none
    learner = OnlineLearner(Settings(complement=True, likelihood=likelihood), ["0", "1"], nothing)
    learner.add_items(x)
    learner.label_many({item: str(y[item]) for item in range(labels)})
    learner.tune()
    assert np.mean(learner.predict(x[60:]) == y[60:]) > 0.9


@pytest.mark.parametrize(
    ("gamma", "dearer"), [(1.0, 1.0), (np.e, 1.0 + 1 / 40), (268.0, 1.0 + np.log(268.0) ** 2 / 40)]
)
def test_a_very_local_kernel_of_a_sum_must_gain_much(gamma, dearer):
    kernel = SumKernel.of((RBFKernel(np.ones(1), np.zeros(1, dtype=int), 0.0, gamma=gamma),), 1.0)
    criterion = with_prior(lambda *_, **__: Evaluation(0.5, 1.0), "loo", 40)
    assert criterion(kernel, 0.1 * kernel.weights.sum()).value == pytest.approx(0.5 * dearer)


@pytest.mark.parametrize(("n_classes", "counted"), [(2, 30), (3, 60)])
def test_targets_that_follow_from_the_others_are_not_counted_against_a_prior(n_classes, counted, monkeypatch):
    seen = []
    module = sys.modules[criterion_for.__module__]
    monkeypatch.setattr(module, "with_prior", lambda criterion, _, n: seen.append(n) or criterion)
    tune(GPHIKClassifier().fit(np.random.default_rng(0).uniform(size=(30, 2)), np.arange(30) % n_classes)._model)
    assert set(seen) == {counted}


@pytest.mark.parametrize(("posterior", "rows"), [("dual", 30), ("levels", 30), ("iterative", 10)])
def test_a_sample_stands_for_what_cannot_be_factored(posterior, rows, monkeypatch):
    monkeypatch.setattr(sys.modules[criterion_for.__module__], "SAMPLE_ROWS", 10)
    x, y = word_counts(30, 6, 2)
    model = GPHIKClassifier(posterior=posterior).fit(x, y)._model
    criterion = criterion_for(model, "loo")
    assert len(criterion._targets) == len(criterion._shape) == len(criterion._operator) == rows


@pytest.mark.parametrize(("max_memory", "rows"), [(8 * 7 * 900, 30), (8 * 7 * 900 - 1, 10)])
def test_a_sample_stands_for_matrices_that_memory_does_not_hold(max_memory, rows, monkeypatch):
    monkeypatch.setattr(sys.modules[criterion_for.__module__], "SAMPLE_ROWS", 10)
    x, y = word_counts(30, 6, 2)
    channels = [Channel(columns=(0, 4), normalise=True), Channel("rbf", columns=(2, 6))]
    fitted = GPHIKClassifier(kernel=channels, max_memory=max_memory).fit(x, y)
    assert len(criterion_for(fitted._model, "loo")._operator) == rows
    fitted.tune()
    assert fitted.residual_ < 1e-8


def test_leave_one_out_takes_the_inverse_in_blocks(monkeypatch):
    x, y = word_counts(30, 6, 2)
    model = GPHIKClassifier(posterior="dual").fit(x, y)._model
    whole = leave_one_out(model)
    monkeypatch.setattr(sys.modules[leave_one_out.__module__], "BLOCK_ROWS", 7)
    for found, expected in zip(leave_one_out(model), whole, strict=True):
        assert np.allclose(found, expected, rtol=1e-10)
