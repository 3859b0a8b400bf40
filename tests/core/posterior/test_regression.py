from dataclasses import replace

import numpy as np
import pytest

from core import OnlineLearner, Settings
from core.histograms import Histograms, raw_rows
from core.kernels import IntersectionKernel, NormalisedIntersectionKernel, RBFKernel
from core.linalg import DenseOperator, HistogramOperator, histogram_operator
from core.models.forest import ForestPool
from core.posterior import POSTERIORS, LabelRegression, choose, costs
from core.rows import NO_ROWS, Size
from tests.core.data import size, word_counts
from tests.reference.dense import DenseGP, hik, targets

GIB = 2**30


def model(x, y, n_classes, **settings):
    kernel = IntersectionKernel(np.ones(1), np.zeros(x.shape[1], dtype=int), 0.5)
    return LabelRegression(HistogramOperator(Histograms.of(x), kernel), y, n_classes, noise=0.1, **settings)


@pytest.mark.parametrize("rule", POSTERIORS)
def test_balance_gives_each_class_noise_in_proportion_to_its_size(rule):
    x, y = word_counts(size(90, 24), 8, 3)
    y = np.where(np.arange(len(y)) % 4 == 0, y, 0)  # mostly class 0
    fitted = model(x[:-4], y[:-4], 3, balance=True, rule=rule)
    fitted.add(raw_rows(x[-4:]), y[-4:])
    fitted.remove(np.array([2, 3]))
    x, y = np.delete(x, [2, 3], axis=0), np.delete(y, [2, 3])
    sizes = np.bincount(y, minlength=3)
    twin = DenseGP(hik(x, x, bias=0.5), targets(y, 3), 0.1 * 3 * sizes[y] / len(y))
    expected = twin.means(hik(x, x[:9], bias=0.5))
    assert np.allclose(fitted.posterior.means(raw_rows(x[:9])), expected, atol=1e-6)
    y = y[::-1].copy()
    fitted.relabel(y, 3)
    twin = DenseGP(twin.K, targets(y, 3), 0.1 * 3 * sizes[y] / len(y))
    assert np.allclose(fitted.posterior.means(raw_rows(x[:9])), twin.means(hik(x, x[:9], bias=0.5)), atol=1e-6)


def test_probabilities_sum_to_one_even_when_every_class_is_unlikely():
    x, y = word_counts(20, 5, 4)
    fitted = model(x, y, 4, rule="dual")
    fitted.noise = 1e-300
    probabilities = fitted.probabilities(raw_rows(x))
    assert np.allclose(probabilities.sum(axis=1), 1.0)
    assert np.array_equal(probabilities.argmax(axis=1), fitted.posterior.means(raw_rows(x)).argmax(axis=1))


def test_the_choice_of_a_posterior_is_looked_at_again_as_labels_double():
    x, y = word_counts(size(300, 60), 3, 2, words=4)
    growing = model(x[:2], y[:2], 2)
    names = [growing.name]
    for i in range(2, len(x)):
        growing.add(raw_rows(x[i : i + 1]), y[i : i + 1])
        names.append(growing.name)
    assert names[0] == "dual"
    assert names[-1] == "levels"


@pytest.mark.parametrize(("rule", "fits"), [("auto", [10, 21]), ("dual", [10])])
def test_the_choice_is_made_anew_once_labels_are_more_than_twice_as_many(rule, fits, monkeypatch):
    """All other labels are updates."""
    fitted_at, fit = [], LabelRegression._fit

    def fit_and_tell(self):
        fitted_at.append(len(self.labels))
        fit(self)

    monkeypatch.setattr(LabelRegression, "_fit", fit_and_tell)
    x, y = word_counts(40, 3, 2)
    growing = model(x[:10], y[:10], 2, rule=rule)
    for i in range(10, 40):
        growing.add(raw_rows(x[i : i + 1]), y[i : i + 1])
    assert fitted_at == fits


@pytest.mark.parametrize(
    ("n", "levels", "nnz", "memory", "expected"),
    [
        (500, 6000, 64_000, 4, "dual"),
        (50_000, 6_000, 6_400_000, 4, "levels"),
        (1_000_000, 1_000, 54_000_000, 4, "levels"),
        (50_000, 400_000, 6_400_000, 4, "iterative"),
        (20_000, 15_000, 2_500_000, 1, "iterative"),
    ],
)
def test_the_cheapest_posterior_that_fits(n, levels, nnz, memory, expected):
    table = costs(n, levels, nnz, 10)
    fitting = {name: cost for name, cost in table.items() if cost.memory <= memory * GIB}
    assert min(fitting, key=lambda name: fitting[name].seconds) == expected


@pytest.mark.parametrize(
    ("n", "alone", "served"),
    [
        (6_000, "dual", "dual"),
        (7_000, "iterative", "dual"),
        (9_000, "iterative", "levels"),
        (16_000, "iterative", "levels"),
    ],
)
def test_with_a_pool_the_cost_is_what_the_pool_asks(n, alone, served):
    """Rows of 50 codes over 8,192 levels, two classes: refreshes decide, where without a pool a fit does."""
    pool = Size(100_000, 5_000_000, coded=True)
    for asked, expected in ((NO_ROWS, alone), (pool, served)):
        table = costs(n, 8_192, 50 * n, 2, asked)
        assert min(table, key=lambda name: table[name].seconds) == expected
    assert table["iterative"].seconds > 50 * table[served].seconds
    more = costs(n, 8_192, 50 * n, 2, replace(pool, rows=2 * pool.rows, nnz=2 * pool.nnz))
    assert more["iterative"].seconds > 1.8 * table["iterative"].seconds


def test_a_pool_never_gets_a_posterior_that_solves_for_each_of_its_rows():
    x, y = word_counts(60, 8, 2)
    operator = HistogramOperator(Histograms.of(x), IntersectionKernel(np.ones(1), np.zeros(8, dtype=int), 0.5))
    assert choose(operator, 2, 1.0) == "iterative"  # needs least
    assert choose(operator, 2, 1.0, Size.of(operator.rows)) == "dual"
    for settings in ({}, {"likelihood": "softmax"}, {"model": "forest", "leaf_size": 1000}):
        learner = OnlineLearner(Settings(levels=None, max_memory=1.0, **settings), ["a", "b"])
        learner.add_items(x[:40])
        learner.label_many({i: "ab"[y[i]] for i in range(20)})
        learner.add_items(x[40:])
        learner.label_many({i: "ab"[y[i]] for i in range(20, 60)})  # twice as many: it is chosen again
        restored = OnlineLearner.load(Settings(levels=None, max_memory=1.0, **settings), learner.dump())
        for one in (learner, restored):
            assert {model.name for model in regressions(one._model)} == {"dual"}
            assert {model.pool_size.rows for model in regressions(one._model)} == {60}


def regressions(labelled):
    """The label regressions behind a labelled pool."""
    if isinstance(labelled, ForestPool):
        return [labelled.forest.model(0, 0).regression]  # one leaf
    return [getattr(labelled, "spread", labelled).model]


def test_the_chooser_knows_kernels_and_memory():
    x, _ = word_counts(size(400, 80), 4, 2, words=5)
    kernel = IntersectionKernel(np.ones(1), np.zeros(4, dtype=int), 0.5)
    operator = HistogramOperator(Histograms.of(x), kernel)
    assert choose(operator, 2, GIB) == "levels"
    assert choose(operator, 2, 1.0) == "levels"  # nothing fits into one byte: what needs least
    assert choose(DenseOperator(x, RBFKernel(np.ones(1), np.zeros(4, dtype=int), 0.0)), 2, GIB) == "dual"
    normalised = histogram_operator(Histograms.of(x), NormalisedIntersectionKernel(kernel.weights, kernel.groups, 0.5))
    assert choose(normalised, 2, GIB) == "dual"  # which has no level space
    assert choose(normalised, 2, 1.0) == "iterative"
    assert choose(normalised, 2, 1.0, Size.of(normalised.rows)) == "dual"


def test_what_does_not_fit_into_memory_is_an_error_that_says_what_to_do(monkeypatch):
    x, y = word_counts(10, 4, 2)

    def full(self):
        raise MemoryError("60 GiB")

    monkeypatch.setattr(POSTERIORS["dual"], "_fit", full)
    with pytest.raises(MemoryError, match=r"60 GiB.*use fewer levels"):
        model(x, y, 2, rule="dual")


def test_the_quickest_posterior_that_fits_or_the_smallest():
    x, _ = word_counts(30, 6, 2)
    operator = HistogramOperator(Histograms.of(x), IntersectionKernel(np.ones(1), np.zeros(6, dtype=int), 0.5))
    table = costs(30, len(operator.levels), operator.rows.nnz, 2)
    quickest, smallest = (min(table, key=lambda name: getattr(table[name], what)) for what in ("seconds", "memory"))
    assert quickest != smallest
    assert choose(operator, 2, 1e9) == quickest
    assert choose(operator, 2, 1.0) == smallest
