from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import GPHIKClassifier
from core.histograms import Histograms, raw_rows
from core.kernels import IntersectionKernel
from core.linalg import HistogramOperator, largest_eigenpairs
from core.posterior import POSTERIORS
from core.variance import VarianceBounds
from tests.benchmarks.data import twenty_levels, word_histograms
from tests.core.data import continuous, size, word_counts
from tests.reference.dense import hik
from tests.strategies import histograms


def check_order(model, query, slack=1e-9):
    """exact <= fapu(8) <= fapu(2) <= rapu, and each constant-time form above its own."""
    exact = model.predict_variance(query)
    fine = {k: model.predict_variance(query, method="fapu", k=k) for k in (8, 2, 0)}
    quick = {k: model.predict_variance(query, method="qfapu", k=k) for k in (8, 2, 0)}
    rapu, qrapu = (model.predict_variance(query, method=method) for method in ("rapu", "qrapu"))
    chain = [exact, fine[8], fine[2], fine[0], rapu, qrapu]
    for lower, upper in pairwise(chain):
        assert (lower <= upper + slack).all()
    for k in (8, 2, 0):
        assert (fine[k] <= quick[k] + slack).all()
        assert (quick[k] <= rapu + slack).all()
    return exact, fine, quick, rapu


@given(histograms(max_rows=14), st.sampled_from(list(POSTERIORS)))
def test_every_bound_is_above_the_exact_variance_in_their_order(x, posterior):
    x = x / max(1.0, x.max())
    model = GPHIKClassifier(posterior=posterior, levels=None).fit(x, np.arange(len(x)) % 2)
    query = np.vstack([x, x * 0.7 + 0.02, x * 1.4, np.zeros((1, x.shape[1]))])
    check_order(model, query, slack=1e-6 if posterior == "iterative" else 1e-9)


@pytest.mark.parametrize("transform", [None, "power", "exp"])
@pytest.mark.parametrize("density", [0.2, 1.0])
def test_with_transforms_on_sparse_and_dense_rows(transform, density):
    x = continuous(size(200, 25), 8, density=density)
    model = GPHIKClassifier(transform=transform, eta=0.6, levels=20, balance=True).fit(x, np.arange(len(x)) % 3)
    exact, _, quick, _ = check_order(model, continuous(30, 8, density=density, seed=4))
    assert np.corrcoef(exact, quick[8])[0, 1] > 0.3


@pytest.mark.jit
@pytest.mark.parametrize("data", [lambda: word_histograms(20_000, n_dims=200), lambda: twenty_levels(20_000, 20)])
def test_at_twenty_thousand_rows(data):
    x, y = data()
    model = GPHIKClassifier(noise=0.1).fit(x[:-100], y[:-100])
    check_order(model, x[-100:] * 0.97)


def test_the_formulas():
    x, query = continuous(30, 4), continuous(7, 4, seed=1)
    kernel = IntersectionKernel(np.ones(1), np.zeros(4, dtype=int), 0.5)
    noise = np.linspace(0.1, 0.3, 30)
    bounds = VarianceBounds(HistogramOperator(Histograms.of(x), kernel), noise, 3)
    mu, e = np.linalg.eigh(hik(x, x, bias=0.5) + np.diag(noise))
    mu, e = mu[::-1], e[:, ::-1]
    cross, own = hik(x, query, bias=0.5), np.diag(hik(query, query, bias=0.5))
    nu = e[:, :3].T @ cross
    rest = (cross**2).sum(axis=0) - (nu**2).sum(axis=0)
    assert np.allclose(bounds(raw_rows(query), "fapu"), own - (nu**2 / mu[:3, None]).sum(axis=0) - rest / mu[3])
    squares = np.minimum(query[:, None], x)
    squares = (squares**2).sum(axis=(1, 2)) + 30 * 0.25
    assert np.allclose(bounds(raw_rows(query), "rapu"), own - squares / mu[0])


def test_coded_rows_and_changes_of_the_model():
    x, y = word_counts(size(120, 20), 8, 3)
    model = GPHIKClassifier().fit(x, y)
    before = model.predict_variance(x[:5], method="qfapu")
    rapu = model.predict_variance(x[:5], method="rapu")
    for method in ("rapu", "qrapu"):
        assert np.allclose(model.predict_variance(model.code(x[:5]), method=method), rapu, atol=1e-12)
    model.partial_fit(x, y)
    after = model.predict_variance(x[:5], method="qfapu")
    assert not np.allclose(before, after)
    fresh = GPHIKClassifier().fit(np.vstack([x, x]), np.append(y, y))
    assert np.allclose(after, fresh.predict_variance(x[:5], method="qfapu"))
    model.forget(np.arange(2 * len(x)))
    for method in ("fapu", "qfapu", "rapu", "qrapu"):
        assert np.allclose(model.predict_variance(x[:5], method=method), 2.0)  # the prior


def test_bad_calls():
    model = GPHIKClassifier().fit([[1.0], [2.0]], [0, 1])
    with pytest.raises(ValueError, match="method must be one of"):
        model.predict_variance([[1.0]], method="guess")
    with pytest.raises(ValueError, match="k must be"):
        model.predict_variance([[1.0]], method="fapu", k=-1)
    with pytest.raises(ValueError, match="histogram kernel"):
        GPHIKClassifier(kernel="rbf").fit([[1.0], [2.0]], [0, 1]).predict_variance([[1.0]], method="rapu")


@pytest.mark.parametrize("n", [1, 5, 200])
def test_eigenpairs(n):
    a = np.random.default_rng(0).normal(size=(n, n))
    a = a @ a.T
    values, vectors = largest_eigenpairs(lambda v: a @ v, n, min(3, n))
    assert np.allclose(values, np.linalg.eigvalsh(a)[::-1][:3])
    assert np.allclose(a @ vectors, vectors * values, atol=1e-6 * values[0])


def test_targets_do_not_matter():
    x, y = word_counts(size(60, 15), 6, 3)
    first, second = GPHIKClassifier().fit(x, y), GPHIKClassifier().fit(x, np.roll(y, 5))
    assert np.allclose(first.predict_variance(x, method="fapu"), second.predict_variance(x, method="fapu"))
