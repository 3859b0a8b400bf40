"""What every model of a pool must do, however it is solved. A subclass says how it is set and how exact it is."""

from typing import get_args

import numpy as np
import pytest

from core import Settings
from core.classes import ClassTree
from core.models.base import PoolModel
from core.models.parameters import Parameters
from core.models.registry import ModelInUse
from core.variance import VarianceName
from tests.core.data import word_counts

N_ITEMS, N_LABELS, N_CLASSES = 100, 70, 3
TREE = ClassTree.flat(N_CLASSES)
X, LABELS = word_counts(N_ITEMS, 8, N_CLASSES)
ITEMS = np.random.default_rng(1).permutation(N_ITEMS)[:N_LABELS]
FREE = np.setdiff1d(np.arange(N_ITEMS), ITEMS)


class PoolModelContract:
    settings: Settings
    parameters = Parameters()
    tolerance = 1e-8

    def begin(self, x=X, tree=TREE, parameters=None):
        return ModelInUse.begin(self.settings, parameters or self.parameters, x, tree)

    def trained(self, items=ITEMS, labels=LABELS, **options) -> PoolModel:
        model = self.begin(**options).model
        model.learn(items, labels[items], np.ones(len(items)))
        return model

    def centre(self, means):
        """What a predictor gives, up to what all classes share."""
        return means

    def check_same(self, model, expected):
        assert np.allclose(model.mean, expected.mean, atol=self.tolerance)
        assert np.allclose(model.variance, expected.variance, atol=self.tolerance)
        assert np.array_equal(model.labels, expected.labels)
        assert np.allclose(model.noises, expected.noises)

    def test_one_by_one_is_all_at_once(self):
        model = self.begin().model
        for item in ITEMS:
            model.learn(np.array([item]), LABELS[[item]], np.ones(1))
        assert model.labelled_items == ITEMS.tolist()
        self.check_same(model, self.trained())

    def test_labels_may_be_learnt_before_the_pool_is_refreshed(self):
        model = self.begin().model
        model.learn(ITEMS, LABELS[ITEMS], np.ones(N_LABELS), refresh=False)
        model.catch_up()
        self.check_same(model, self.trained())

    def test_what_is_forgotten_was_never_learnt(self):
        model = self.trained()
        for item in ITEMS[:7]:
            model.forget(int(item))
        self.check_same(model, self.trained(ITEMS[7:]))

    def test_a_relabelled_item_was_always_of_that_class(self):
        model, other = self.trained(), LABELS.copy()
        for item in ITEMS[:5]:
            other[item] = (LABELS[item] + 1) % N_CLASSES
            model.relabel(int(item), int(other[item]))
        self.check_same(model, self.trained(labels=other))

    def test_doubted_labels_say_less(self):
        sure, doubted = self.trained(ITEMS[:-1]), self.trained(ITEMS[:-1])
        last = ITEMS[-1:]
        sure.learn(last, LABELS[last], np.ones(1))
        doubted.learn(last, LABELS[last], np.array([8.0]))
        assert doubted.variance[last] > sure.variance[last]
        assert np.allclose(doubted.noise_factors, [*np.ones(N_LABELS - 1), 8.0])
        assert doubted.noises[last] == pytest.approx(8.0 * doubted.noise)

    def test_appended_items_were_always_there(self):
        in_use = self.begin(X[:90])
        in_use.model.append(in_use.read(X[90:]))
        assert len(in_use.model) == N_ITEMS
        in_use.model.learn(ITEMS, LABELS[ITEMS], np.ones(N_LABELS))
        self.check_same(in_use.model, self.trained())

    def test_classes_may_get_other_numbers(self):
        model, numbers = self.trained(), np.array([2, 0, 3])
        model.renumber(numbers, ClassTree.flat(4))
        self.check_same(model, self.trained(labels=numbers[LABELS], tree=ClassTree.flat(4)))

    def test_rows_that_are_items_get_the_answers_of_items(self):
        model = self.trained()
        rows = model.rows(FREE)
        mean, variance, probabilities = model.predictive(rows)
        assert np.allclose(mean, model.mean[FREE], atol=self.tolerance)
        assert np.allclose(variance, model.variance[FREE], atol=self.tolerance)
        assert np.allclose(probabilities, model.item_predictions.probabilities(FREE), atol=self.tolerance)
        assert np.allclose(probabilities.sum(axis=1), 1.0)
        assert np.array_equal(model.predict(rows), model.item_predictions.predicted(FREE))
        assert np.allclose(model.means(rows), mean, atol=self.tolerance)
        assert np.allclose(self.centre(model.predictor(rows)), mean, atol=self.tolerance)

    def test_bounds_are_above_the_exact_variance(self):
        """Those that there are, of items and of other rows; the others are refused with what there is."""
        in_use = self.begin()
        model = in_use.model
        model.learn(ITEMS, LABELS[ITEMS], np.ones(N_LABELS))
        for rows in (model.rows(FREE), in_use.read(0.7 * X[FREE] + 0.1)):
            exact = model.variance_by("exact")(rows)
            assert np.allclose(exact, model.moments(rows)[1])
            for name in get_args(VarianceName):
                if name not in model.variances:
                    with pytest.raises(ValueError, match=f"variance {name} is for one"):
                        model.variance_by(name)
                    continue
                bound = model.variance_by(name)(rows)
                assert (bound >= exact - self.tolerance).all()
                mean, variance, probabilities = model.predictive(rows, name)
                assert np.array_equal(variance, bound)
                assert np.allclose(mean, model.moments(rows)[0])
                assert np.allclose(probabilities.sum(axis=1), 1.0)

    def test_variances_never_exceed_those_without_labels_by_more_than_the_constant(self):
        model = self.trained()
        rows = model.rows(FREE)
        assert (model.prior(rows) >= 0.0).all()
        own = model.kernel(FREE, FREE).diagonal() if model.solver != "forest" else model.operator.diagonal(rows)
        assert np.allclose(model.prior(rows), own - model.operator.kernel.bias)
        assert np.allclose(model.prior.for_items()(rows), model.prior(rows))

    def test_predictions_agree_with_each_other(self):
        predictions = self.trained().item_predictions
        every = np.arange(N_ITEMS)
        probabilities = predictions.probabilities(every)
        assert np.array_equal(predictions.predicted(), predictions.predicted(every))
        assert np.array_equal(predictions.predicted(), probabilities.argmax(axis=1))
        assert np.allclose(predictions.uncertainty(), 1.0 - probabilities.max(axis=1))

    def test_what_readers_hold_stays_as_it_was(self):
        model = self.trained()
        predictions, before = model.item_predictions, model.item_predictions.probabilities(FREE)
        model.learn(FREE[:5], LABELS[FREE[:5]], np.ones(5))
        assert np.array_equal(predictions.probabilities(FREE), before)
        assert not np.allclose(model.item_predictions.probabilities(FREE), before)

    def test_left_out_labels_are_predicted_by_the_others(self):
        model = self.trained()
        items = np.sort(ITEMS)
        found = model.item_predictions.left_out(items, LABELS[items], model.noises[items], TREE)
        assert found.means.shape == found.probabilities.shape == (N_LABELS, N_CLASSES)
        assert np.allclose(found.probabilities.sum(axis=1), 1.0)
        item = int(np.sort(ITEMS)[4])
        model.forget(item)
        expected = model.item_predictions.probabilities(np.array([item]))[0]
        assert found.probabilities[4].argmax() == expected.argmax()

    def test_labels_of_one_class(self):
        """Nothing is told apart, but variances fall, and each label is predicted by the others."""
        model, labels = self.begin().model, np.zeros(N_ITEMS, dtype=np.int64)
        before = model.variance.mean()
        model.learn(ITEMS, labels[ITEMS], np.ones(N_LABELS))
        assert model.variance.mean() < before
        found = model.item_predictions.left_out(ITEMS, labels[ITEMS], model.noises[ITEMS], TREE)
        assert (found.predicted == 0).mean() > 0.9
        assert np.abs(found.means).max() < 10.0

    def test_covariances_are_those_of_the_variances(self):
        model, a, b = self.trained(), FREE[:6], ITEMS[:4]
        assert np.allclose(model.covariance(a, b), model.covariance(b, a).T, atol=self.tolerance)
        assert np.allclose(model.covariance(a, a).diagonal(), model.variance[a], atol=self.tolerance)
        assert np.allclose(model.kernel(a, b), model.kernel(b, a).T)
        assert (model.kernel(a, a).diagonal() >= model.variance[a] - self.tolerance).all()

    def test_the_state_for_strategies_is_that_of_the_items(self):
        model = self.trained()
        state = model.state(FREE, np.arange(0, N_ITEMS, 7))
        assert np.array_equal(state.rows, FREE)
        assert np.array_equal(state.mean, model.mean[FREE])
        assert np.array_equal(state.variance, model.variance[FREE])
        assert np.array_equal(state.labelled, model.labelled_items)
        assert state.probabilities.shape == (len(FREE), N_CLASSES)

    def check_ahead(self, mean, variance, before, after):
        """Mean and variance that are expected of a reference, and those there were before and after a label."""
        assert np.allclose(mean, after[0], atol=1e-8)
        assert np.allclose(variance, after[1], atol=1e-8)

    def test_what_is_ahead_is_what_learning_gives(self):
        """For each answer about an item: the posterior of a reference, part of which has labels."""
        model, reference = self.trained(), np.arange(0, N_ITEMS, 3)
        ahead = model.state(FREE, reference).ahead
        for place in (0, 11, 29):
            for answer in range(N_CLASSES):
                after = model.draft()
                after.learn(FREE[[place]], np.array([answer]), np.ones(1))
                self.check_ahead(
                    *ahead.moments(place, answer),
                    (model.mean[reference], model.variance[reference]),
                    (after.mean[reference], after.variance[reference]),
                )

    def test_answers_ahead_are_as_likely_as_probabilities_say(self):
        model = self.trained()
        state = model.state(FREE, np.arange(0, N_ITEMS, 3))
        answers, chances = state.ahead.answers
        assert np.allclose(np.take_along_axis(state.probabilities, answers, axis=1), chances, atol=1e-9)

    @pytest.mark.parametrize("warm", [False, True])
    def test_a_dumped_model_comes_back(self, warm):
        in_use = self.begin()
        in_use.model.learn(ITEMS, LABELS[ITEMS], np.ones(N_LABELS))
        in_use.model.forget(int(ITEMS[3]))
        again = ModelInUse.load(self.settings, in_use.dump(warm=warm), TREE).model
        self.check_same(again, in_use.model)
        assert (again.kind, again.solver, again.hyperparameters) == (
            in_use.model.kind,
            in_use.model.solver,
            in_use.model.hyperparameters,
        )
        for one in (again, in_use.model):
            one.learn(FREE[:3], LABELS[FREE[:3]], np.ones(3))
        self.check_same(again, in_use.model)

    def test_training_changes_parameters_and_keeps_labels(self):
        in_use = self.begin()
        in_use.model.learn(ITEMS, LABELS[ITEMS], np.ones(N_LABELS))
        before = in_use.model.hyperparameters
        assert in_use.tune(lambda: None)
        assert in_use.model.hyperparameters != before
        assert in_use.model.labelled_items == ITEMS.tolist()
        self.check_same(in_use.model, self.trained(parameters=in_use.parameters))

    def test_it_says_how_exact_it_is(self):
        assert 0.0 <= self.trained().residual() < 1e-6
