import numpy as np
import pytest
import scipy.sparse as sp

from core import GPHIKClassifier
from core.histograms import CodedRows, Histograms, distinct_values, merged
from core.histograms.quantise import thinned
from core.posterior import LevelSums
from tests.core.data import continuous, size, word_counts

N = size(300, 40)


class Reading:
    """Chunks that are made anew for each pass; counts the passes."""

    def __init__(self, x, y, step, form=np.asarray):
        self.x, self.y, self.step, self.form = x, y, step, form
        self.passes = 0

    def __iter__(self):
        self.passes += 1
        for first in range(0, len(self.y), self.step):
            part = slice(first, first + self.step)
            yield self.form(self.x[part]), self.y[part]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"levels": 5},
        {"complement": True, "levels": 8},
        {"split": True, "levels": 8},
        {"transform": "power", "eta": 2.0},
    ],
)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_chunks_teach_what_one_fit_does(settings, form):
    x, y = word_counts(N, 7, 3)
    query, _ = word_counts(25, 7, 3, seed=3)
    names = np.array(["a", "b", "c"])[y]
    one = GPHIKClassifier(posterior="levels", **settings).fit(x, names)
    many = GPHIKClassifier(**settings).fit_chunks(Reading(x, names, 37, form))
    assert (many.posterior_, many.n_levels_) == ("levels", one.n_levels_)
    assert many.classes_.tolist() == ["a", "b", "c"]
    assert np.allclose(many.means(query), one.means(query), atol=1e-9)
    assert np.allclose(many.predict_variance(query), one.predict_variance(query), atol=1e-9)
    assert np.allclose(many.predict_proba(many.code(query)), one.predict_proba(one.code(query)), atol=1e-8)
    assert many.residual_ < 1e-8
    assert many.parameters_ == one.parameters_


def test_the_sums_are_the_same_to_the_last_bit_however_they_are_cut():
    x, y = word_counts(N, 7, 3)
    found = [GPHIKClassifier().fit_chunks(Reading(x, y, step)) for step in (1000, 50, 7)]
    order = np.random.default_rng(0).permutation(N)
    found.append(GPHIKClassifier().fit_chunks(Reading(x[order], y[order], 50)))
    for other in found[1:]:
        assert np.array_equal(other._model.sums.pairs, found[0]._model.sums.pairs)
        assert np.array_equal(other.means(x), found[0].means(x))


def test_more_rows_and_classes_later():
    x, y = word_counts(N, 7, 3)
    model = GPHIKClassifier().fit_chunks(Reading(x, y, 50))
    model.partial_fit(x[:5], [-4, 1, 1, 7, 7])
    same = GPHIKClassifier().fit_chunks([(x, y), (x[:5], [-4, 1, 1, 7, 7])])
    assert model.classes_.tolist() == [-4, 0, 1, 2, 7]
    assert np.array_equal(model.means(x), same.means(x))


def test_level_sums_of_parts_add_up():
    x, y = word_counts(N, 7, 3)
    histograms = Histograms.of(x)
    whole = LevelSums.of(histograms.levels, histograms.rows, y, 3)
    half = np.arange(N // 2)
    rest = np.arange(N // 2, N)
    both = [LevelSums.of(histograms.levels, histograms.rows.take(part), y[part], 3) for part in (half, rest)]
    total = both[1] + both[0]
    for name in ("pairs", "by_class", "sizes"):
        assert np.array_equal(getattr(total, name), getattr(whole, name))
    none = LevelSums.of(histograms.levels, CodedRows.empty(), y[:0], 3)
    assert np.array_equal((none + whole).pairs, whole.pairs)


def test_counting_values_stays_small():
    x = continuous(400, 2)
    a, b = distinct_values(x[:200]), distinct_values(x[200:])
    few = merged(a, b, 50)
    assert [len(values) <= 50 for values, _ in few.values()] == [True] * 3
    assert [int(counts.sum()) for _, counts in few.values()] == [int((x[:, d] > 0).sum()) for d in range(2)] + [400]
    values, counts = thinned(np.array([1.0, 2.0]), np.array([3, 4]), 2)
    assert (values.tolist(), counts.tolist()) == ([1.0, 2.0], [3, 4])


def test_what_chunks_cannot_do():
    x, y = word_counts(20, 7, 2)
    model = GPHIKClassifier().fit_chunks([(x, y)])
    before = model.means(x)
    for call, message in [
        (lambda: model.forget([0]), "no row is kept"),
        (lambda: model.relabel([0], [1]), "no row is kept"),
        (model.tune, "tune on a sample"),
        (lambda: model.fit_chunks(iter([(x, y)])), "more than once"),
        (lambda: model.fit_chunks([]), "at least one chunk"),
        (lambda: model.fit_chunks([(x, y), (x[:, :2], y)]), "2 features.*expecting 7"),
        (lambda: model.fit_chunks([(x, y), (-x, y)]), "Negative values"),
        (lambda: model.fit_chunks([(x, y), (x, y[:3])]), "inconsistent"),
        (lambda: GPHIKClassifier("rbf").fit_chunks([(x, y)]), "chunks need kernel='hik'; got 'rbf'"),
        (lambda: GPHIKClassifier(tune="loo").fit_chunks([(x, y)]), "chunks need tune=None"),
        (lambda: GPHIKClassifier(posterior="dual").fit_chunks([(x, y)]), "chunks need posterior"),
        (lambda: model._model.posterior.weights, "sums alone"),
    ]:
        with pytest.raises(ValueError, match=message):
            call()
        assert np.array_equal(model.means(x), before)


def test_a_correction_takes_an_error_out_of_the_sums_solution():
    x, y = word_counts(N, 7, 3)
    model = GPHIKClassifier(noise=0.3)
    model.fit_chunks(Reading(x, y, 100))
    posterior = model._model.posterior
    assert posterior.residual() < 1e-8
    posterior._w = posterior._w * 1.001
    assert posterior.residual() == pytest.approx(1e-3, rel=1e-3)
    posterior._correct_by_system()
    assert posterior.residual() < 1e-8
