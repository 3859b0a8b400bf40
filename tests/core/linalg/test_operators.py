from copy import copy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.histograms import Histograms, code_rows, raw_rows
from core.kernels import IntersectionKernel
from core.linalg import HistogramOperator, kernel_error
from tests.core.data import continuous, size, word_counts
from tests.reference.dense import hik
from tests.strategies import histograms

TRANSFORMS = [(None, 1.0), ("power", 0.4), ("exp", 3.0)]


def weighted(n_dims, transform=None, eta=1.0):
    weights = np.linspace(0.0, 2.0, n_dims) if n_dims > 1 else np.ones(1)
    return IntersectionKernel(weights, np.arange(n_dims), 0.3, transform, eta)


def twin(kernel, a, b):
    return hik(a, b, transform=kernel.transform, eta=kernel.eta, weights=kernel.dim_weights, bias=kernel.bias)


@given(histograms(max_rows=10), st.integers(1, 3), st.sampled_from(TRANSFORMS))
def test_products_and_predictions_equal_the_dense_kernel(x, columns, transform):
    x = x / max(x.max(), 1.0)
    kernel = weighted(x.shape[1], *transform)
    operator = HistogramOperator(Histograms.of(x), kernel)
    v = np.random.default_rng(0).normal(size=(len(x), columns))
    K = twin(kernel, x, x)
    assert np.allclose(operator.product(v), K @ v, atol=1e-12)
    assert np.allclose(operator.cross(operator.rows), K, atol=1e-12)
    assert np.allclose(operator.diagonal(operator.rows), np.diag(K), atol=1e-12)
    # Between, on, below and above the levels.
    other = np.vstack([x * 0.7, x, x * 1.2 + 0.01])
    cross = twin(kernel, other, x)
    assert np.allclose(operator.predictor(v)(raw_rows(other)), cross @ v, atol=1e-12)
    assert np.allclose(operator.cross(raw_rows(other)), cross.T, atol=1e-12)
    assert np.allclose(operator.diagonal(raw_rows(other)), np.diag(twin(kernel, other, other)), atol=1e-12)


def test_a_quantised_prediction_is_the_exact_one_of_the_nearest_levels():
    x = continuous(size(200, 20), 5)
    kernel = IntersectionKernel(np.linspace(2.0, 1.0, 5), np.arange(5), 0.3, "power", 0.5)  # the first column counts
    operator = HistogramOperator(Histograms.of(x, 6), kernel)
    predictor = operator.predictor(np.random.default_rng(1).normal(size=(len(x), 3)))
    rows = raw_rows(continuous(size(100, 10), 5, seed=9))
    coded = code_rows(rows, operator.levels)
    assert np.allclose(predictor(rows, quantised=True), predictor(coded), atol=1e-12)
    assert not np.allclose(predictor(rows), predictor(coded), atol=1e-6)


def test_dimensions_that_no_training_row_has_count_for_nothing():
    operator = HistogramOperator(Histograms.of(np.array([[1.0, 0.0]])), weighted(2))
    predictor = operator.predictor(np.ones((1, 1)))
    for quantised in (False, True):
        assert predictor(raw_rows(np.array([[0.0, 5.0]])), quantised=quantised)[0, 0] == pytest.approx(0.3)


@pytest.mark.jit
def test_a_table_that_outgrows_sixteen_bits_gets_wider_codes():
    x, more = continuous(420, 250), continuous(40, 250, seed=5)
    operator = HistogramOperator(Histograms.of(x), weighted(250))
    assert operator.rows.codes.dtype == np.uint16
    coded = operator.learn_levels(raw_rows(more))
    assert len(operator.levels) > 1 << 16
    fresh = HistogramOperator(Histograms(operator.levels, code_rows(raw_rows(x), operator.levels)), operator.kernel)
    v = np.random.default_rng(0).normal(size=(len(x), 2))
    assert np.allclose(operator.pull_back(v, v), fresh.pull_back(v, v))
    assert np.allclose(operator.features().sums(v), fresh.features().sums(v))
    assert np.allclose(operator.product(v), twin(operator.kernel, x, x) @ v)
    pool, rows = copy(operator.rows), np.vstack([x, more])
    pool.append(coded)
    assert np.allclose(operator.diagonal(pool), np.diag(twin(operator.kernel, rows, rows)))
    assert np.array_equal(operator.features(pool).codes, operator.levels.rank[pool.codes])


def test_columns_of_many_rows_and_of_each_level_alone():
    x, more = continuous(size(120, 40), 4), continuous(size(70, 35), 4, seed=5)
    operator = HistogramOperator(Histograms.of(x), weighted(4))
    operator.append(raw_rows(more))  # levels that are not in order
    rows = np.vstack([x, more])
    K = twin(operator.kernel, rows, rows)
    assert np.allclose(operator.cross(raw_rows(rows)), K, atol=1e-12)
    assert np.allclose(operator.cross(operator.rows, 9), K[9:], atol=1e-12)
    features, columns = operator.features(operator.rows), operator.level_cross()
    sums = np.add.reduceat(columns[:, features.codes], features.starts[:-1], axis=1)
    assert np.allclose(sums, K, atol=1e-12)


@pytest.mark.jit
def test_products_of_many_rows_do_not_depend_on_the_number_of_threads(monkeypatch):
    import core._parallel

    x, _ = word_counts(40_000, 150, 4)
    operator = HistogramOperator(Histograms.of(x), weighted(150))
    v = np.random.default_rng(0).normal(size=(len(x), 3))
    results = []
    for threads in (1, 2, 3):
        monkeypatch.setattr(core._parallel, "threads", lambda threads=threads: threads)
        features = operator.features()
        products = operator.product(v), operator.cross(operator.training_rows(np.arange(100)))
        table = np.asfortranarray(np.random.default_rng(1).normal(size=(features.size, features.size)))
        counts = features.counts(np.ones(len(x)))
        results.append((*products, counts, features.sums(v), features.pair_sums(table)))
    for other in results[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(results[0], other, strict=True))


def test_the_kernel_error_of_quantisation_is_reported():
    x = continuous(size(300, 80), 6)
    kernel = weighted(6)
    errors = [kernel_error(x, HistogramOperator(Histograms.of(x, q), kernel)).mean for q in (2, 8, 32)]
    assert errors[0] > 2 * errors[1] > 4 * errors[2] > 0.0
    assert kernel_error(x, HistogramOperator(Histograms.of(x, None), kernel)).max == 0.0
    # Against a direct computation, on all rows (fewer than the sample).
    few = x[:50]
    stored = Histograms.of(few, 4)
    values = np.zeros((len(few), 7))
    for i in range(len(few)):
        codes = stored.rows.codes[stored.rows.starts[i] : stored.rows.starts[i + 1]]
        values[i, stored.levels.dims[codes]] = stored.levels.values[codes]
    exact, coarse = twin(kernel, few, few), twin(kernel, values[:, :6], values[:, :6])
    error = kernel_error(few, HistogramOperator(stored, kernel))
    assert error.max == pytest.approx(np.abs(exact - coarse).max())
    assert error.mean == pytest.approx(np.abs(exact - coarse).mean())
    assert error.relative == pytest.approx(np.abs(exact - coarse).mean() / exact.mean())
