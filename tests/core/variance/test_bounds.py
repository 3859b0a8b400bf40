import pickle
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
from core.variance import LastBounds, VarianceBounds, variance_by, variances_of
from tests.benchmarks.data import twenty_levels, word_histograms
from tests.core.data import continuous, size, word_counts
from tests.reference.dense import hik
from tests.reference.freytag import fapu, rapu
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


def gram_of(x, kernel):
    """K(X, X) one entry at a time, with a kernel of two rows."""
    return np.array([[kernel(a, b) for b in x] for a in x])


@pytest.mark.parametrize("normalise", [False, True])
def test_the_bounds_are_those_of_the_paper(normalise):
    """Against the formulas, row by row; of the normalised kernel the parts of a kernel value are divided as it is."""
    x, query, bias, noise = continuous(size(40, 12), 5) + 0.01, continuous(4, 5, seed=1) + 0.01, 0.3, 0.2
    model = GPHIKClassifier(levels=None, normalise=normalise, bias=bias, noise=noise).fit(x, np.arange(len(x)) % 2)

    def parts(a, b):
        scale = np.sqrt(a.sum() * b.sum()) if normalise else 1.0
        return np.append(np.minimum(a, b) / scale, bias)

    K, noises = gram_of(x, lambda a, b: parts(a, b).sum()), np.full(len(x), noise)
    for i, row in enumerate(query):
        own, each = parts(row, row).sum(), [parts(row, other) for other in x]
        cross = [one.sum() for one in each]
        for k in (0, 1, 2, 8):
            found = model.predict_variance(query[[i]], method="fapu", k=k)[0]
            assert found == pytest.approx(fapu(K, noises, cross, own, k), abs=1e-9)
        assert model.predict_variance(query[[i]], method="rapu")[0] == pytest.approx(rapu(K, noises, each, own))


KERNELS = [
    {"normalise": True, "bias": 0.2},
    {"normalise": True, "transform": "power", "eta": 2.0},
    {"kernel": "rbf", "gamma": 3.0},
    {"kernel": "linear"},
    {"complement": True},
]


@given(histograms(max_rows=14), st.sampled_from(KERNELS), st.floats(0.01, 10.0))
def test_bounds_of_other_kernels(x, options, noise):
    x = x / max(1.0, x.max())
    x[0] = x[0] + 0.1  # complements are taken of rows that differ
    model = GPHIKClassifier(**options, noise=noise).fit(x, np.arange(len(x)) % 2)
    query = np.vstack([x, x * 0.7 + 0.02, x * 1.4, np.zeros((1, x.shape[1]))])
    exact = model.predict_variance(query)
    histogram = "kernel" not in options
    for k in (4, 2, 0):
        fine, quick = (model.predict_variance(query, method=method, k=k) for method in ("fapu", "qfapu"))
        assert (exact <= fine + 1e-9).all()
        assert (fine <= quick + 1e-9).all()
        if histogram:
            rapu, qrapu = (model.predict_variance(query, method=method) for method in ("rapu", "qrapu"))
            assert (quick <= rapu + 1e-9).all()
            assert (rapu <= qrapu + 1e-9).all()


def test_bounds_can_be_sent_to_workers():
    x, y = word_counts(size(80, 20), 8, 3)
    for options in ({}, {"normalise": True}, {"kernel": "rbf"}):
        posterior = GPHIKClassifier(**options).fit(x, y)._model.posterior
        bounds = LastBounds()
        rows = posterior.operator.training_rows(np.arange(5))
        for name in set(variances_of(posterior.operator)) - {"exact"}:
            bound = variance_by(posterior, bounds, name)
            assert np.allclose(pickle.loads(pickle.dumps(bound))(rows), bound(rows))
        known = bounds.of(posterior)
        assert bounds.of(posterior) is known
        assert bounds.of(posterior, 3) is not known


def test_rows_in_chunks_have_exact_variances_alone():
    model = GPHIKClassifier().fit_chunks([([[1.0, 0.0]], ["a"]), ([[0.0, 1.0]], ["b"])])
    assert model.predict_variance([[1.0, 0.0]]) < 0.2
    with pytest.raises(ValueError, match="came in chunks are not kept"):
        model.predict_variance([[1.0, 0.0]], method="fapu")


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
