import numpy as np
import pytest

from core import OnlineLearner, Settings
from core.factory import make_operator, make_reader, make_regression
from core.posterior import one_vs_all
from core.tuning import earlier, leave_one_out, raise_noise, tune
from tests.core.data import word_counts


def noisy(n=80, flipped=0.3, seed=0, **settings):
    """Three classes; some labels are anything."""
    x, y = word_counts(n, 8, 3, seed=seed)
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < flipped, rng.integers(3, size=n), y)
    own = Settings(**settings)
    operator = make_operator(own, x, make_reader(own, x))
    return own, operator, y, make_regression(own, operator, y, 3)


def errors(settings, operator, y, noise, factors):
    """What models of fewer labels say of the next: squared errors, and the same over their variance."""
    squares, shares = [], []
    for i in range(len(y) // 4, len(y)):
        few = make_regression(settings, operator.only(np.arange(i)), y[:i], 3)
        few.noise_factors = factors[:i]
        few.reset(operator.kernel, noise)
        row = operator.training_rows(np.array([i]))
        error = (one_vs_all(y[[i]], 3) - few.posterior.means(row)) ** 2
        squares.append(error)
        shares.append(error / (few.posterior.variance(row) + noise * factors[i]))
    return np.mean(squares), np.mean(shares)


def test_the_noise_is_the_one_by_which_fewer_labels_predict_the_next_best():
    settings, operator, y, model = noisy(52, noise=0.02)
    model.noise_factors = np.linspace(1.0, 2.0, len(y))
    model.refit()
    factors = model.noise_factors
    found = {times: errors(settings, operator, y, 0.02 * times, factors) for times in earlier.NOISES}
    best = min(found, key=lambda times: found[times][0])
    assert best > 1.0
    raise_noise(model)
    rows = operator.training_rows(np.arange(52))
    amplitude = model.operator.diagonal(rows) / operator.diagonal(rows)
    assert np.allclose(amplitude, model.noise / (0.02 * best))
    assert errors(settings, model.operator, y, model.noise, factors)[1] == pytest.approx(1.0)


def test_noise_that_is_there_already_stays(monkeypatch):
    _, _, _, model = noisy(52, flipped=0.0, noise=50.0)
    kernel = model.operator.kernel
    raise_noise(model)
    assert (model.noise, model.operator.kernel) == (50.0, kernel)
    _, _, _, model = noisy(52, noise=0.001)
    for limit, labels in (("MANY", 51), ("LEAST", 53)):
        with monkeypatch.context() as patched:
            patched.setattr(earlier, limit, labels)
            raise_noise(model)
        assert model.noise == 0.001
    raise_noise(model)
    assert model.noise > 0.001


def between_classes(n, seed):
    """Labels of overlapping classes, each asked for where a model of those before is least sure."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=(600, 2))
    y = (rng.random(600) < 0.15 + 0.7 * (x[:, 0] > 0.5)).astype(int)
    settings = Settings(kernel="rbf")
    learner = OnlineLearner(settings, ["0", "1"])
    learner.add_items(x)
    for i in range(n):
        item = learner.query(1, seed=1000 * seed + i)[0].row
        learner.label(item, str(y[item]))
        if i in (15, 25, 40):
            learner.tune()
    items = np.array(learner._model.labelled_items)
    operator = make_operator(settings, x[items], make_reader(settings, x[items]))
    return make_regression(settings, operator, y[items], 2), learner, x


@pytest.mark.jit
def test_labels_that_were_asked_for_show_too_little_noise_by_what_the_others_say_of_them():
    raised = []
    for seed in range(3):
        model, learner, x = between_classes(60, seed)
        found = tune(model, "loo")
        model.reset(found.kernel, found.noise)
        before = model.noise
        others = np.mean((one_vs_all(model.labels, 2) - leave_one_out(model)[0]) ** 2)
        raise_noise(model)
        raised.append(model.noise > before)
        assert np.mean((one_vs_all(model.labels, 2) - leave_one_out(model)[0]) ** 2) >= others - 1e-9
        learner.tune()
        again = OnlineLearner.build(learner.settings, x, learner.labelling())
        assert np.allclose(again.mean, learner.mean, atol=1e-8)
    assert any(raised)
