"""One step ahead, against fits with each answer and against integrals."""

from dataclasses import replace

import numpy as np
import pytest

from core import OnlineLearner, Settings
from core.models.look_ahead import LookAhead, one_posterior
from core.queries import STRATEGIES, pick, picking
from core.queries.ask import reference_of
from tests.core.data import word_counts
from tests.reference import look_ahead as twin
from tests.reference.dense import hik

NAMES, NOISE, N = ["ant", "bee", "cat", "dog"], 0.3, 60


def pool(n_labels=14, **options):
    x, y = word_counts(N, 8, 4)
    learner = OnlineLearner(Settings(**{"noise": NOISE, "levels": None} | options), NAMES)
    learner.add_items(x)
    learner.label_many({item: NAMES[y[item]] for item in range(n_labels)})
    return learner, hik(x, x, bias=1.0), y


def state_of(learner, items, costs=None):
    return replace(learner._model.state(items, reference_of(N)), costs=costs)


@pytest.mark.parametrize(
    "costs", [None, 1.0 - np.eye(4), np.array([[0, 5, 1, 1], [1, 0, 1, 1], [1, 1, 0, 0.25], [1, 1, 1, 0.0]])]
)
def test_the_expected_loss_is_that_of_fits_with_each_answer(costs):
    learner, K, y = pool()
    items = np.array([20, 33, 47, 59])
    found = STRATEGIES["eer"](state_of(learner, items, costs), 0)
    rows = np.arange(14)
    expected = [twin.expected_loss(K, y[:14], rows, item, np.arange(N), NOISE, 4, costs) for item in items]
    assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("loss", "costs"), [("class", 1.0 - np.eye(4)), ({"ant": {"bee": 5.0}, "cat": {"dog": 0.25}}, None)]
)
def test_a_question_may_lower_another_loss(loss, costs):
    learner, _, _ = pool()
    if costs is None:
        costs = 1.0 - np.eye(4)
        costs[0, 1], costs[2, 3] = 5.0, 0.25
    scores = STRATEGIES["eer"](state_of(learner, np.arange(14, N), costs), 0)
    (found,) = learner.query(1, "eer", loss=loss)
    assert (found.row, found.score) == (14 + scores.argmin(), pytest.approx(scores.min(), abs=1e-9))


def test_in_a_tree_of_classes_a_near_miss_costs_less():
    x, y = word_counts(N, 8, 4)
    parents = {"ant": "insect", "bee": "insect", "cat": "beast", "dog": "beast"}
    learner = OnlineLearner(Settings(likelihood="softmax"), [*NAMES, "insect", "beast"], parents=parents)
    learner.add_items(x)
    learner.label_many({item: NAMES[y[item]] for item in range(14)})
    near = np.array([[0, 1, 2, 2], [1, 0, 2, 2], [2, 2, 0, 1], [2, 2, 1, 0.0]])
    for loss, costs in (("tree", near), ("parent", (near > 1).astype(float))):
        scores = STRATEGIES["eer"](state_of(learner, np.arange(14, N), costs), 0)
        (found,) = learner.query(1, "eer", loss=loss)
        assert (found.row, found.score) == (14 + scores.argmin(), pytest.approx(scores.min(), abs=1e-9))


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        ("best", "loss must be one of log, class, parent, tree"),
        (3, "loss must be a name or a table"),
        ({"ant": 3}, "the costs of class 'ant' must be a table"),
        ({"cow": {"ant": 3}}, "got 'cow'"),
        ({"ant": {"bee": -1}}, "of at least 0; got -1"),
        ({"ant": {"bee": np.nan}}, "must be a finite number"),
    ],
)
def test_losses_that_are_none(loss, message):
    with pytest.raises(ValueError, match=message):
        pool()[0].query(1, "eer", loss=loss)


@pytest.mark.parametrize("likelihood", ["gaussian", "softmax"])
def test_the_log_loss_of_one_posterior_needs_no_probabilities(likelihood):
    ahead = state_of(pool(likelihood=likelihood)[0], np.arange(14, N)).ahead
    assert ahead.expected_loss() == pytest.approx(ahead._losses(None)[:, 0], rel=1e-12)


def moments(mean, variance):
    return one_posterior(np.atleast_2d(mean).T * [-1.0, 1.0], np.asarray(variance), NOISE)


def test_information_is_a_double_integral():
    """For two classes: of the positive one against the other."""
    rng = np.random.default_rng(0)
    mean, deviation = rng.normal(size=9) * 0.7, rng.uniform(0.2, 0.9, 9)
    covariance = rng.uniform(-0.9, 0.9, (4, 5)) * np.outer(deviation[:4], deviation[4:])
    ahead = LookAhead.of(
        np.arange(4),
        np.arange(4, 9),
        moments(mean[:4], deviation[:4] ** 2),
        moments(mean[4:], deviation[4:] ** 2),
        "gaussian",
        NOISE,
        lambda a, b: (covariance if len(a) == 4 else covariance.T)[None],
    )
    expected = [
        np.mean(
            [
                twin.information(
                    mean[i], deviation[i] ** 2, mean[4 + j], deviation[4 + j] ** 2, covariance[i, j], NOISE
                )
                for j in range(5)
            ]
        )
        for i in range(4)
    ]
    assert ahead.information() == pytest.approx(expected, rel=2e-3, abs=1e-6)
    assert max(expected) > 5 * min(expected)


def test_information_about_numbers_is_that_of_their_correlation():
    state = state_of(pool()[0], np.arange(14, N))
    one = replace(
        state, mean=state.mean[:, :1], around=one_posterior(np.zeros((N, 1)), state.around.variance[0], NOISE)
    )
    c = state.covariance(state.rows, state.reference)
    squares = c**2 / np.outer(state.variance + NOISE, state.around.variance[0] + NOISE)
    assert -STRATEGIES["epig"](one, 0) == pytest.approx(-0.5 * np.log(1.0 - squares).mean(axis=1))


@pytest.mark.parametrize("likelihood", ["gaussian", "softmax"])
def test_what_is_asked_counts_as_answered(likelihood):
    """Covariances and variances of what is ahead are those after labels, whatever these say."""
    learner, _, y = pool(likelihood=likelihood)
    items, asked = np.array([20, 33, 47]), np.array([25, 51, 30])
    found = state_of(learner, items).ahead.asked(asked[:2]).asked(asked[2:]).take(np.array([2, 0]))
    learner.label_many({int(item): NAMES[y[item]] for item in asked})
    expected = state_of(learner, items[[2, 0]]).ahead
    tolerance = 1e-9
    assert np.allclose(found.covariance, expected.covariance, atol=tolerance)
    assert np.allclose(found.items.variance, expected.items.variance, atol=tolerance)
    assert np.allclose(found.around.variance, expected.around.variance, atol=tolerance)
    again = found.asked(np.array([40]))
    learner.label(40, NAMES[y[40]])
    assert np.allclose(again.covariance, state_of(learner, items[[2, 0]]).ahead.covariance, atol=tolerance)


@pytest.mark.parametrize("strategy", ["eer", "epig"])
def test_a_batch_is_chosen_one_by_one_each_conditioned_on_those_before(strategy):
    learner, _, _ = pool()
    picks = learner.query(4, strategy)
    for i, one in enumerate(picks):
        before = np.array([other.row for other in picks[:i]], dtype=np.int64)
        (alone,) = learner.query(1, strategy, pending=before)
        assert (one.row, one.score) == (alone.row, pytest.approx(alone.score, abs=1e-9))


@pytest.mark.parametrize("strategy", ["eer", "epig"])
def test_a_long_batch_looks_at_few_again(strategy, monkeypatch):
    learner, _, _ = pool()
    monkeypatch.setattr(picking, "AHEAD", 60)
    rows = [one.row for one in learner.query(20, strategy)]
    assert len(set(rows)) == 20
    assert rows[0] == learner.query(1, strategy)[0].row


@pytest.mark.parametrize("strategy", ["eer", "epig"])
def test_only_a_shortlist_is_looked_at(strategy, monkeypatch):
    """The most uncertain items, whose best is asked about."""
    learner, _, _ = pool()
    monkeypatch.setattr(picking, "SHORTLIST", 9)
    state = state_of(learner, np.arange(14, N))
    few = np.sort(np.argsort(STRATEGIES["unc"](state, 0))[:10])
    scores = STRATEGIES[strategy](state.take(few), 0)
    assert learner.query(1, strategy)[0].row == state.rows[few[scores.argmin()]]


def test_a_state_without_a_posterior_of_the_reference_cannot_look_ahead():
    state = replace(state_of(pool()[0], np.arange(14, N)), around=None)
    with pytest.raises(ValueError, match="no posterior of the reference"):
        pick(state, "eer")


def test_softmax_is_one_label_on_top_of_the_laplace_approximation():
    """The mode of a Gaussian prior N(mean, variance) of each class function and one label, by small steps."""
    learner, _, _ = pool(likelihood="softmax")
    ahead = state_of(learner, np.array([20, 47])).ahead
    answers = np.array([[0, 3], [1, 2]])
    steps = ahead.steps(answers)
    for i in range(2):
        for a in range(2):
            mean, v = ahead.items.mean[0, i], ahead.latent[i]
            f = mean.copy()
            for _ in range(4000):
                p = np.exp(f) / np.exp(f).sum()
                f += 0.05 * (np.eye(4)[answers[i, a]] - p - (f - mean) / v)
            assert mean + v * steps[0, i, a] == pytest.approx(f, abs=1e-7)
