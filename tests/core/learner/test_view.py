import numpy as np
import pytest

from core import OnlineLearner, Settings
from core.probabilities import probit
from core.tuning import leave_one_out
from tests.core.data import size, word_counts

NAMES = ["ant", "bee", "cat"]
N = size(80, 24)


def taught(n_labels=12, **settings):
    x, y = word_counts(N, 8, 3)
    learner = OnlineLearner(Settings(**settings), NAMES)
    learner.add_items(x)
    for item in range(n_labels):
        learner.label(
            N - 1 - item, NAMES[y[item]], noise_factor=1.0 + item % 2
        )  # in another order than that of the items
    return learner


@pytest.mark.parametrize("settings", [{"posterior": p} for p in ("dual", "levels", "iterative")] + [{"balance": True}])
def test_leave_one_out_follows_from_what_is_published(settings):
    learner = taught(**settings)
    labelled = learner._model
    means, variances = leave_one_out(labelled.model)
    order = np.argsort(labelled.labelled_items)
    left_out = learner.publish().left_out
    assert left_out.items.tolist() == sorted(labelled.labelled_items)
    assert np.array_equal(left_out.labels, labelled.model.labels[order])
    assert np.allclose(left_out.means, means[order], atol=1e-6)
    assert np.allclose(left_out.variances, variances[order], atol=1e-6)
    assert np.allclose(left_out.probabilities.sum(axis=1), 1.0)


def test_leave_one_out_of_dense_kernels():
    learner = taught(kernel="rbf", gamma=20.0)
    means, _ = leave_one_out(learner._model.model)
    assert np.allclose(learner.publish().left_out.means, means[np.argsort(learner._model.labelled_items)], atol=1e-8)


def test_leave_one_out_of_the_softmax_likelihood_comes_near_to_models_without_each_label():
    x, y = word_counts(30, 8, 3, words=12)

    def learner_of(labels):
        learner = OnlineLearner(Settings(likelihood="softmax"), NAMES)
        learner.add_items(x)
        learner.label_many(labels)
        return learner.publish()

    labels = {item: NAMES[y[item]] for item in range(15)}
    published = learner_of(labels)
    without = np.array(
        [learner_of({other: labels[other] for other in labels if other != item}).mean[item] for item in labels]
    )
    moved, off = published.mean[:15] - without, published.left_out.means - without
    assert np.abs(off).mean() < 0.4 * np.abs(moved).mean()


@pytest.mark.parametrize("settings", [{}, {"likelihood": "softmax"}, {"model": "forest", "leaf_size": 4}])
def test_some_items_are_told_as_all_are(settings):
    published, items = taught(**settings).publish(), np.array([7, 3, N - 1])
    assert np.allclose(published.probabilities_of(items), published.probabilities[items], atol=1e-12)
    assert np.array_equal(published.predicted_of(items), published.predicted[items])
    mean, variance = published.moments(items)
    assert np.allclose(mean, published.mean[items])
    assert np.allclose(variance, published.variance[items])


def test_uncertainty_is_the_probability_to_err():
    published = taught().publish()
    assert np.array_equal(published.predicted, published.mean.argmax(axis=1))
    assert np.allclose(published.uncertainty, 1.0 - published.probabilities.max(axis=1))
    assert published.tells_classes_apart
    assert not taught(0).publish().tells_classes_apart
    assert not taught(1).publish().tells_classes_apart
    learner = taught(0)
    learner.label_many({3: NAMES[1], 4: NAMES[1]})
    assert not learner.publish().tells_classes_apart
    learner.label(5, NAMES[0])
    assert learner.publish().tells_classes_apart


def test_nobody_can_change_what_is_published():
    published = taught().publish()
    for array in (published.mean, published.variance, published.noises, published.labels):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_hopeless_classes_are_equally_probable():
    assert probit(np.array([[-1e200, -1e200]]), np.array([1.0])).tolist() == [[0.5, 0.5]]


@pytest.mark.parametrize("settings", [{}, {"likelihood": "softmax"}, {"kernel": "rbf", "gamma": 20.0}])
def test_rows_are_told_as_items_are(settings):
    learner = taught(**settings)
    published = learner.publish()
    mean, variance, probabilities, novelty = learner.predictive(word_counts(N, 8, 3)[0])
    assert np.allclose(mean, published.mean, atol=1e-7)
    assert np.allclose(variance, published.variance, atol=1e-7)
    assert np.allclose(probabilities, published.probabilities, atol=1e-7)
    assert np.allclose(novelty, published.predictive(np.arange(N)).novelty, atol=1e-7)
    assert published.kernel == settings.get("kernel", "hik")
