"""What features are measured in does not matter to what tuning finds."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from core import GPHIKClassifier, GPHIKForestClassifier, OnlineLearner, Settings

pytestmark = pytest.mark.jit  # tens of fits each

SCALES = (1e-6, 3e-3, 7e2, 1e6)
KERNELS = {
    "hik": {},
    "power": {"transform": "power"},
    "exp": {"transform": "exp"},
    "complement": {"complement": True},
    "normalise": {"normalise": True},
    "rbf": {"kernel": "rbf"},
    "linear": {"kernel": "linear"},
    "auto": {"kernel": "auto"},
}


def spectra(n, seed):
    """Three classes of counts in eight columns, some of them wrong: n x 8, n."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    rates = 1.0 + 4.0 * np.array([[1, 1, 0, 0, 0, 0, 1, 0], [0, 0, 1, 1, 0, 0, 1, 1], [0, 0, 0, 0, 1, 1, 0, 1]])
    x = rng.gamma(2.0, rates[y] / 2.0)
    wrong = rng.random(n) < 0.08
    return x, np.where(wrong, (y + 1) % 3, y)


X, Y = spectra(48, 0)
X_TEST, Y_TEST = spectra(300, 1)


def accuracy(model, scale):
    return model.fit(scale * X, Y).score(scale * X_TEST, Y_TEST)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("likelihood", ["gaussian", "softmax"])
@pytest.mark.parametrize("name", KERNELS)
def test_tuned_accuracy_is_the_same_at_every_scale(name, likelihood):
    tune = "loo" if likelihood == "gaussian" else "cv"

    def at(scale):
        return accuracy(GPHIKClassifier(**KERNELS[name], likelihood=likelihood, tune=tune), scale)

    scales = SCALES if likelihood == "gaussian" else SCALES[::3]  # which takes its time
    expected = at(1.0)
    assert expected > 0.7
    assert [at(scale) for scale in scales] == pytest.approx([expected] * len(scales), abs=0.02)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_forest_tunes_the_same_at_every_scale():
    def at(scale):
        return accuracy(GPHIKForestClassifier(n_trees=2, leaf_size=40, tune="loo"), scale)

    assert [at(1e-6), at(1e6)] == pytest.approx([at(1.0)] * 2, abs=0.01)


@pytest.mark.parametrize("likelihood", ["gaussian", "softmax"])
def test_a_learner_finds_the_same_model_at_every_scale_and_from_there_again(likelihood):
    """Also the second time, from what the first search found."""
    guesses = []
    for scale in (1.0, 1e-6, 1e6):
        learner = OnlineLearner(Settings(kernel="rbf", likelihood=likelihood))
        learner.add_items(scale * X_TEST[:60])
        learner.label_many({item: str(Y_TEST[item]) for item in range(20)})
        learner.tune()
        learner.label_many({item: str(Y_TEST[item]) for item in range(20, 40)})
        learner.tune()
        guesses.append(learner.predict(scale * X))
    assert np.mean(guesses[0] == guesses[1]) > 0.98
    assert np.mean(guesses[0] == guesses[2]) > 0.98


def test_gamma_far_from_the_distances_of_rows_is_left_behind():
    """At such a gamma all rows are strangers, and the criterion is flat."""
    lost = GPHIKClassifier(kernel="rbf", gamma=1e5, tune="loo")
    assert accuracy(lost, 1.0) == pytest.approx(accuracy(GPHIKClassifier(kernel="rbf", tune="loo"), 1.0), abs=0.02)


def test_a_search_that_ends_at_a_bound_warns():
    x = np.random.default_rng(0).normal(size=(40, 3))
    y = (x[:, 0] * x[:, 1] > 0).astype(int)  # nothing that is linear
    with pytest.warns(ConvergenceWarning, match="noise ended at its upper bound, 10000 times the mean of k"):
        model = GPHIKClassifier(kernel="linear", tune="loo").fit(x, y)
    assert [one.parameter for one in model.tuned_.at_bounds] == ["noise"]
    learner = OnlineLearner(Settings(kernel="linear"))
    learner.add_items(x)
    learner.label_many({item: str(label) for item, label in enumerate(y)})
    learner.tune()
    (warning,) = learner.publish().warnings
    assert "noise ended at its upper bound" in warning
    rebuilt = OnlineLearner.build(learner.settings, x, learner.labelling())
    restored = OnlineLearner.load(learner.settings, learner.dump())
    assert rebuilt.publish().warnings == restored.publish().warnings == (warning,)
