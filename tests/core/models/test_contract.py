"""All models of a pool, by one contract."""

from dataclasses import replace

import numpy as np

from core import Channel, Settings
from core.models.parameters import Parameters
from core.models.registry import ModelInUse
from core.softmax import centred
from tests.core.models.contract import ITEMS, LABELS, TREE, PoolModelContract, X


class TestGaussian(PoolModelContract):
    settings = Settings(noise=0.3, levels=None)


class TestNormalised(PoolModelContract):
    settings = Settings(normalise=True, bias=0.2, noise=0.3, levels=None)


SUM = (
    Channel(columns=(0, 5), normalise=True),
    Channel("rbf", columns=(3, 8), gamma=2.0),
    Channel("linear", weight=0.3),
)


class TestSum(PoolModelContract):
    settings = Settings(kernel=SUM, bias=0.2, noise=0.3)


class TestGaussianRBF(PoolModelContract):
    settings = Settings(kernel="rbf", gamma=2.0, noise=0.3)


class TestBalanced(PoolModelContract):
    settings = Settings(noise=0.3, levels=None, balance=True)

    def test_doubted_labels_say_less(self):
        """Noises follow the sizes of classes, too: only the order can be said."""
        model = self.trained(ITEMS[:-1])
        last = ITEMS[-1:]
        model.learn(last, LABELS[last], np.array([8.0]))
        assert model.variance[last] > self.trained().variance[last]

    def check_ahead(self, mean, variance, before, after):
        """A label changes the noise of all others, which a look ahead leaves as it is."""
        assert (variance <= before[1]).all()


class TestSoftmax(PoolModelContract):
    settings = Settings(likelihood="softmax", noise=0.3, levels=None)
    tolerance = 1e-5  # of a fit that starts from the last

    def check_ahead(self, mean, variance, before, after):
        """Means are those by a Gaussian approximation of what was known, variances exact."""
        moved, expected = mean - before[0], after[0] - before[0]
        assert np.corrcoef(moved.ravel(), expected.ravel())[0, 1] > 0.9
        assert 0.8 < (moved * expected).sum() / (expected**2).sum() < 1.5
        assert np.allclose(variance, after[1], atol=1e-8)

    def centre(self, means):
        return centred(means)


class TestSumSoftmax(TestSoftmax):
    settings = Settings(kernel=SUM, bias=0.2, noise=0.3, likelihood="softmax")


class TestNormalisedSoftmax(TestSoftmax):
    settings = Settings(likelihood="softmax", normalise=True, noise=0.3, levels=None)


class TestForestOfOneLeaf(PoolModelContract):
    settings = Settings(model="forest", leaf_size=1000, n_trees=3, noise=0.3, levels=None)

    def test_it_is_one_gaussian_process_however_many_labels_of_one_class_there_are(self):
        labels = np.zeros(len(LABELS), dtype=np.int64)
        small = replace(self.settings, leaf_size=5)
        models = [ModelInUse.begin(one, Parameters(), X, TREE).model for one in (small, TestGaussian.settings)]
        for model in models:
            model.learn(ITEMS, labels[ITEMS], np.ones(len(ITEMS)))
        assert np.allclose(models[0].variance, models[1].variance, atol=1e-10)
        left_out = [
            model.item_predictions.left_out(ITEMS, labels[ITEMS], model.noises[ITEMS], TREE) for model in models
        ]
        assert np.allclose(left_out[0].means, left_out[1].means, atol=1e-8)

    def test_likelihoods_go_before_what_was_chosen(self):
        found = ModelInUse.begin(Settings(likelihood="softmax"), Parameters(model="forest"), X, TREE)
        assert (found.model.kind, found.model.solver) == ("gp", "softmax")


def trees_of(settings):
    in_use = ModelInUse.begin(settings, Parameters(), X, TREE)
    in_use.model.learn(ITEMS, LABELS[ITEMS], np.ones(len(ITEMS)))
    in_use.tune(lambda: None)
    return in_use.parameters


class TestForest(PoolModelContract):
    settings = Settings(model="forest", leaf_size=25, n_trees=3, noise=0.3, levels=None)
    parameters = replace(trees_of(settings), theta=None)

    def test_there_are_trees(self):
        assert self.trained().solver == "forest"
        assert len(self.parameters.trees) == 3


class TestNormalisedForest(TestForest):
    settings = replace(TestForest.settings, normalise=True)
    parameters = replace(trees_of(settings), theta=None)
