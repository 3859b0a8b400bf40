from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax

from core import OnlineLearner, Settings
from core.factory import make_operator, make_reader, make_regression
from core.learner.choices import choose
from core.learner.record import Labelling
from core.models.parameters import Parameters
from core.selection import likelihood as module
from core.selection.compare import Verdict
from core.selection.likelihood import (
    _regression_losses,
    _softmax_losses,
    choose_likelihood,
    label_seconds,
    softmax_variances,
)
from core.softmax import SoftmaxRegression, centred, laplace_posterior, left_out
from core.tuning import find_sharpness, mean_gap

RBF = Settings(kernel="rbf", likelihood="auto", tune="loo")
CLASSES = tuple("abcdef")


def drawn(n, seed=0):
    """Rows of two columns, and classes drawn by the softmax of their direction."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2.0, 2.0, size=(n, 2))
    angles = np.linspace(0.0, 2.0 * np.pi, len(CLASSES), endpoint=False)
    p = softmax(6.0 * (np.cos(angles) * x[:, :1] + np.sin(angles) * x[:, 1:]), axis=1)
    return x, np.array([rng.choice(len(CLASSES), p=row) for row in p]), p


def labelling(y, parameters=None):
    return Labelling(CLASSES, {i: CLASSES[number] for i, number in enumerate(y)}, parameters=parameters or Parameters())


@pytest.mark.jit
def test_what_is_surely_better_is_in_use_from_then_on(monkeypatch):
    """Regression is made worse here than it is: on so few rows nothing is sure."""
    worse = module._regression_losses
    monkeypatch.setattr(module, "_regression_losses", lambda model: worse(model) + 2.0)
    n = 120
    x, y, _ = drawn(n + 300)
    view = OnlineLearner.build(RBF, x, labelling(y[:n]), train=True).publish()
    assert (view.likelihood, view.solver) == ("softmax", "softmax")
    assert str(view.likelihood_choice).startswith("softmax: log loss of later labels 0.")
    own = {contender.name: contender for contender in view.likelihood_choice.contenders}
    assert own["gaussian"].behind > 2.0 * own["gaussian"].behind_error > 0.0
    rest = np.arange(n, len(x))
    wrong = (view.predicted_of(rest) != y[rest]).mean()
    assert wrong < 0.4
    assert 1.0 - view.probabilities_of(rest).max(axis=1).mean() == pytest.approx(wrong, abs=0.1)


@pytest.mark.parametrize(
    ("gain", "incumbent", "winner"),
    [
        (0.01, "gaussian", "gaussian"),
        (-0.01, "softmax", "softmax"),
        (0.9, "gaussian", "softmax"),
        (-0.9, "softmax", "gaussian"),
    ],
)
def test_the_incumbent_stays_unless_the_other_is_surely_better(gain, incumbent, winner, monkeypatch):
    x, y, _ = drawn(60)
    noise = 0.5 * np.random.default_rng(0).normal(size=30)
    monkeypatch.setattr(module, "_regression_losses", lambda *_: np.ones(30))
    monkeypatch.setattr(module, "_softmax_losses", lambda *_: 1.0 - gain + noise - noise.mean())
    verdict, given = choose_likelihood(Settings(kernel="rbf", tune="loo"), x, y, len(CLASSES), incumbent)
    assert (verdict.name, given is None) == (winner, False)


def test_each_row_of_the_second_half_is_predicted_by_the_first():
    """Whatever the labels of the second half are, its predictions are the same but for hyperparameters."""
    x, y, _ = drawn(80)
    settings = Settings(kernel="rbf", noise=0.3)
    operator = make_operator(settings, x, make_reader(settings, x))
    model = make_regression(settings, operator, y, len(CLASSES))
    prior = softmax_variances(model, lambda: None).prior
    losses = _softmax_losses(model, prior)
    whole = SoftmaxRegression(operator, y, prior)
    first = SoftmaxRegression(operator.only(np.arange(40)), y[:40], prior)
    means = centred(first.latents(operator.training_rows(np.arange(40, 80))))
    sharpness = find_sharpness(left_out(whole, laplace_posterior(whole)), y, mean_gap(means))
    p = softmax(sharpness * means, axis=1)
    assert np.allclose(losses, -np.log(p[np.arange(40), y[40:]]), rtol=1e-3, atol=1e-3)
    assert np.isfinite(_regression_losses(model)).all()


def test_softmax_is_left_out_where_a_label_would_take_too_long():
    x, y, _ = drawn(60)
    verdict, given = choose_likelihood(Settings(kernel="rbf"), x, y, len(CLASSES), n_items=10**9)
    assert (verdict.name, given) == ("gaussian", None)
    assert str(verdict).startswith("gaussian: under softmax a label would take some ")


@pytest.mark.parametrize("kernel", ["rbf", "hik"])
def test_a_label_costs_more_with_more_items_labels_and_classes(kernel):
    x = np.abs(drawn(40)[0])
    settings = Settings(kernel=kernel)
    operator = make_operator(settings, x, make_reader(settings, x))
    base = label_seconds(operator, 100, 1000, 3)
    for more in ((200, 1000, 3), (100, 2000, 3), (100, 1000, 6)):
        assert label_seconds(operator, *more) > base > 0.0


def test_it_is_decided_again_when_labels_have_doubled(monkeypatch):
    calls = []

    def choose(settings, x, labels, n_classes, incumbent, *_):
        calls.append((len(labels), incumbent))
        return Verdict("softmax", "log loss", reason="said so"), None

    monkeypatch.setattr("core.learner.choices.choose_likelihood", choose)
    x, y, _ = drawn(140)
    parameters = Parameters()
    for n in (40, 60, 100, 120):
        learner = OnlineLearner.build(RBF, x, labelling(y[:n], parameters), train=True)
        parameters = learner.labelling().parameters
    assert calls == [(60, "gaussian"), (120, "softmax")]
    assert (parameters.likelihood, parameters.likelihood_chosen_at) == ("softmax", 120)
    assert learner.publish().likelihood == "softmax"


@pytest.mark.parametrize("doubted", [False, True])
def test_a_comparison_that_softmax_wins_finds_its_hyperparameters_too(doubted, monkeypatch):
    """There is one search of variances, and what it found is in use; the comparison knows nothing of doubted labels."""
    searches = []

    def search(model, on_step, last=None):
        searches.append(len(model.labels))
        return softmax_variances(model, on_step, last)

    monkeypatch.setattr(module, "softmax_variances", search)
    monkeypatch.setattr("core.models.softmax.softmax_variances", search)
    worse = module._regression_losses
    monkeypatch.setattr(module, "_regression_losses", lambda model: worse(model) + 2.0)
    x, y, _ = drawn(300)
    known = replace(labelling(y[:80]), noise_factors=dict.fromkeys(range(80), 1.0) | ({3: 4.0} if doubted else {}))
    learner = OnlineLearner.build(RBF, x, known, train=True)
    assert searches == ([80, 80] if doubted else [80])
    parameters = learner.labelling().parameters
    assert parameters.sharpness is not None
    assert learner.residual() < 1e-6
    again = OnlineLearner.build(RBF, x, known, train=False)
    assert again.publish().likelihood == "gaussian"
    built = OnlineLearner.build(RBF, x, learner.labelling())
    assert np.allclose(built.publish().probabilities, learner.publish().probabilities, atol=1e-6)
    assert np.allclose(built.variance, learner.variance, rtol=1e-6)
    if not doubted:
        _, found = choose_likelihood(RBF, x[:80], y[:80], len(CLASSES), "gaussian", len(x))
        assert parameters.theta == pytest.approx((*found.kernel.theta, found.noise))


def test_it_is_kept_in_parameters_and_in_the_state():
    x, y, _ = drawn(60)
    parameters = Parameters(likelihood="softmax", likelihood_chosen_at=30)
    learner = OnlineLearner.build(RBF, x, labelling(y[:40], parameters), train=True)
    assert learner.labelling().parameters.sharpness is not None
    again = OnlineLearner.load(RBF, learner.dump())
    assert again.publish().likelihood == "softmax"
    assert again.labelling().parameters == learner.labelling().parameters
    assert np.allclose(again.publish().probabilities, learner.publish().probabilities, atol=1e-6)
    built = OnlineLearner.build(RBF, x, learner.labelling())
    assert np.allclose(built.publish().probabilities, learner.publish().probabilities, atol=1e-6)
    learner.label(50, "a")
    assert learner.residual() < 1e-6


@pytest.mark.parametrize("own", [{"balance": True}, {"l1": 0.1}, {"posterior": "dual"}, {"model": "forest"}])
def test_what_belongs_to_label_regression_decides_for_it(own):
    settings = Settings(kernel="hik", likelihood="auto", **own)
    settings.check()
    x, y, _ = drawn(60)
    learner = OnlineLearner.build(
        settings, np.abs(x), labelling(y, Parameters(likelihood="softmax", likelihood_chosen_at=1)), train=True
    )
    assert (learner.publish().likelihood, learner.publish().likelihood_choice) == ("gaussian", None)


def test_a_person_who_waits_ends_it():
    x, y, _ = drawn(80)

    class Enough(Exception):  # noqa: N818
        pass

    def stop_at(step):
        left = iter(range(step))

        def on_step():
            if next(left, None) is None:
                raise Enough

        return on_step

    for step in (0, 3, 30):
        with pytest.raises(Enough):
            OnlineLearner.build(RBF, x, labelling(y), train=True, on_step=stop_at(step))


def test_a_pool_in_parts_has_label_regression_alone():
    x, y, _ = drawn(80)
    parameters, choices = choose(
        Settings(kernel="hik", likelihood="auto"), np.abs(x), labelling(y), lambda: None, in_parts=True
    )
    assert parameters.likelihood == "gaussian"
    assert str(choices.likelihood) == "gaussian: pools in parts have label regression alone"
