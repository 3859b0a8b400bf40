import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import norm
from sklearn.base import clone

from core import GPHIKClassifier
from core.posterior import POSTERIORS, choose
from tests.core.data import continuous, either_form, size, word_counts
from tests.reference.dense import DenseGP, hik, targets

N, D, M = size(150, 24), 10, 3


@pytest.fixture
def data():
    x, y = word_counts(N, D, M)
    query, _ = word_counts(12, D, M, seed=7)
    return x, np.array(["ant", "bee", "cat"])[y], query * 0.95


def twin(x, labels, classes, *, noise=0.1, bias=1.0, **kernel):
    y = np.searchsorted(classes, labels)
    return DenseGP(hik(x, x, bias=bias, **kernel), targets(y, len(classes)), np.full(len(x), noise))


@pytest.mark.parametrize("posterior", [*POSTERIORS, "auto"])
@pytest.mark.parametrize("levels", ["auto", None])
def test_means_variance_and_probabilities(data, posterior, levels):
    x, y, query = data
    for form, rows in zip(either_form(x), either_form(query), strict=True):
        model = GPHIKClassifier(posterior=posterior, levels=levels).fit(form, y)
        gp = twin(x, y, model.classes_)
        cross, own = hik(x, query, bias=1.0), np.diag(hik(query, query, bias=1.0))
        means, variance = gp.means(cross), gp.variance(cross, own)
        assert np.allclose(model.means(rows), means, atol=1e-6)
        assert np.allclose(model.decision_function(rows), means, atol=1e-6)
        assert np.allclose(model.predict_variance(rows), variance, atol=1e-6)
        assert np.allclose(model.predict_variance(rows, noisy=True), variance + 0.1, atol=1e-6)
        assert np.array_equal(model.predict(rows), model.classes_[means.argmax(axis=1)])
        scores = norm.cdf(means / np.sqrt(variance + 0.1)[:, None])
        assert np.allclose(model.predict_proba(rows), scores / scores.sum(axis=1, keepdims=True), atol=1e-6)
        chosen = choose(model._model.operator, M, np.inf) if posterior == "auto" else posterior
        assert model.posterior_ == chosen
        assert model.residual_ < 1e-8
        assert model.n_levels_ == sum(len(np.unique(column[column > 0])) for column in x.T)
        assert model.kernel_error_.max == 0.0


@pytest.mark.parametrize(
    "settings",
    [
        {"transform": "power", "eta": 0.5},
        {"transform": "exp", "eta": 2.0},
        {"weights": np.linspace(0, 2, D)},
        {"bias": 0.0},
        {"noise": 0.7},
        {"eta": 3.0},  # without a transform there is nothing to apply it to
    ],
)
def test_kernel_settings(data, settings):
    x, y, query = data
    model = GPHIKClassifier(**settings).fit(x, y)
    kernel = {k: v for k, v in settings.items() if k in ("transform", "eta", "weights")}
    bias = settings.get("bias", 1.0)
    gp = twin(x, y, model.classes_, noise=settings.get("noise", 0.1), bias=bias, **kernel)
    assert np.allclose(model.means(query), gp.means(hik(x, query, bias=bias, **kernel)), atol=1e-8)
    own = np.diag(hik(query, query, bias=bias, **kernel))
    expected = gp.variance(hik(x, query, bias=bias, **kernel), own)
    assert np.allclose(model.predict_variance(query), expected, atol=1e-8)


def test_group_weights_are_weights_of_their_columns(data):
    x, y, query = data
    groups = np.arange(D) % 3
    grouped = GPHIKClassifier(weights=[0.5, 1.0, 2.0], groups=groups).fit(x, y)
    single = GPHIKClassifier(weights=np.array([0.5, 1.0, 2.0])[groups]).fit(x, y)
    assert np.array_equal(grouped.means(query), single.means(query))


def test_complement_is_one_minus_the_distance_and_takes_any_sign():
    rng = np.random.default_rng(0)
    x, query = rng.normal(size=(N, 4)) * 9, rng.normal(size=(8, 4)) * 3
    y = (x[:, 0] > x[:, 1]).astype(int)
    model = GPHIKClassifier(complement=True, levels=None, weights=[1.0, 2.0, 3.0, 0.5]).fit(x, y)
    low, span = x.min(axis=0), np.ptp(x, axis=0)
    a, b = (x - low) / span, np.clip((query - low) / span, 0, 1)
    weights = np.array([1.0, 2.0, 3.0, 0.5])

    def kernel(a, b):
        return 1.0 + (weights * (1.0 - np.abs(a[:, None] - b))).sum(axis=2)

    gp = DenseGP(kernel(a, a), targets(y, 2), np.full(len(x), 0.1))
    assert np.allclose(model.means(query), gp.means(kernel(a, b)), atol=1e-8)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_dense_kernels(kernel):
    rng = np.random.default_rng(0)
    x, query = rng.normal(size=(40, 4)), rng.normal(size=(7, 4))
    y = (x[:, 0] > 0).astype(int)
    model = GPHIKClassifier(kernel=kernel, gamma=0.3).fit(x, y)

    def cross(a, b):
        return 1.0 + (a @ b.T if kernel == "linear" else np.exp(-0.3 * ((a[:, None] - b) ** 2).sum(axis=2)))

    gp = DenseGP(cross(x, x), targets(y, 2), np.full(40, 0.1))
    assert np.allclose(model.means(query), gp.means(cross(x, query)), atol=1e-8)
    assert np.allclose(model.means(sp.csr_matrix(query)), model.means(query))
    assert model.posterior_ == "dual"
    assert model.n_levels_ == 0
    scaled = GPHIKClassifier(kernel="rbf").fit(x, y)
    assert scaled.means(query).shape == (7, 2)


def test_two_classes_follow_scikit_learn_and_means_has_both_columns(data):
    x, y, query = data
    y = np.where(y == "cat", "cat", "ant")
    model = GPHIKClassifier().fit(x, y)
    assert model.decision_function(query).shape == (len(query),)
    assert np.array_equal(model.decision_function(query), model.means(query)[:, 1])
    assert np.allclose(model.means(query)[:, 0], -model.means(query)[:, 1], atol=1e-10)


@pytest.mark.parametrize("posterior", POSTERIORS)
@pytest.mark.parametrize("more", [{}, {"balance": True}, {"class_weights": {"cat": 5.0, "ant": 0.5}}])
def test_learning_in_parts_forgetting_and_relabelling_equal_a_fresh_fit(data, posterior, more):
    x, y, query = data
    settings = {"posterior": posterior, "levels": None, **more}
    model = GPHIKClassifier(**settings)
    first = np.flatnonzero(y != "bee")[:8]
    model.partial_fit(x[first], y[first])
    rest = np.setdiff1d(np.arange(N), first)
    model.partial_fit(x[rest[:5]], y[rest[:5]])
    for i in rest[5:]:
        model.partial_fit(x[i : i + 1], y[i : i + 1])
    order = np.concatenate([first, rest])
    x, y = x[order], y[order].copy()
    model.forget([0, 3, N - 1])
    x, y = np.delete(x, [0, 3, N - 1], axis=0), np.delete(y, [0, 3, N - 1])
    model.relabel([1, 2], ["cat", "zebra"])
    y = y.astype("<U5")
    y[[1, 2]] = ["cat", "zebra"]
    fresh = GPHIKClassifier(**settings).fit(x, y)
    assert np.array_equal(model.classes_, fresh.classes_)
    tolerance = 1e-6 if posterior == "iterative" else 1e-8
    assert np.allclose(model.means(query), fresh.means(query), atol=tolerance)
    assert np.allclose(model.predict_variance(query), fresh.predict_variance(query), atol=tolerance)
    assert model.n_levels_ >= fresh.n_levels_  # levels of forgotten rows stay


def test_a_row_of_a_weighted_class_counts_as_so_many_rows(data):
    x, y, query = data
    weighted = GPHIKClassifier(class_weights={"cat": 3}, levels=None).fit(x, y)
    cats = y == "cat"
    often = GPHIKClassifier(levels=None).fit(np.vstack([x, x[cats], x[cats]]), np.concatenate([y, y[cats], y[cats]]))
    assert np.allclose(weighted.means(query), often.means(query), atol=1e-8)
    assert np.allclose(weighted.predict_variance(query), often.predict_variance(query), atol=1e-8)
    assert not np.allclose(weighted.means(query), GPHIKClassifier(levels=None).fit(x, y).means(query), atol=1e-3)
    with pytest.raises(ValueError, match="class_weights names 'cow', but the labels are"):
        GPHIKClassifier(class_weights={"cow": 3}).fit(x, y)


def test_classes_can_be_announced_before_they_have_rows(data):
    x, y, query = data
    model = GPHIKClassifier().partial_fit(x[:2], y[:2], classes=["ant", "bee", "cat", "dog"])
    assert model.classes_.tolist() == ["ant", "bee", "cat", "dog"]
    assert model.means(query).shape == (len(query), 4)
    assert np.allclose(model.predict_proba(query).sum(axis=1), 1.0)
    model.partial_fit(x[2:], y[2:], classes=["emu"])
    fresh = GPHIKClassifier().partial_fit(x, y, classes=["dog", "emu", *np.unique(y)])
    assert np.array_equal(model.classes_, fresh.classes_)
    assert np.allclose(model.means(query), fresh.means(query), atol=1e-8)


def test_a_label_wider_than_those_before_is_not_cut_off(data):
    x, _, _ = data
    model = GPHIKClassifier().fit(x[:4], ["a", "b", "a", "b"]).partial_fit(x[4:5], ["a very long name"])
    assert model.classes_.tolist() == ["a", "a very long name", "b"]


def test_a_pool_coded_once_is_scored_often(data):
    x, y, query = data
    model = GPHIKClassifier(levels=None).fit(x, y)
    pool = model.code(x)
    for i in range(3):
        assert np.allclose(model.means(pool), model.means(x), atol=1e-10)
        assert np.array_equal(model.predict(pool), model.predict(x))
        model.partial_fit(query[i : i + 1], y[i : i + 1])  # brings new levels; ids do not change


def test_coding_takes_values_to_the_levels_known_then(data):
    x, y, query = data
    model = GPHIKClassifier(levels=None).fit(x, y)
    pool = model.code(query)  # values that no learnt row has
    rounded = np.zeros((len(query), D + 1))
    levels = model._model.operator.levels
    for i in range(len(query)):
        codes = pool.take(np.array([i])).codes
        rounded[i, levels.dims[codes]] = levels.values[codes]
    assert np.allclose(model.means(pool), model.means(rounded[:, :D]), atol=1e-10)
    assert not np.allclose(model.means(pool), model.means(query), atol=1e-6)
    model.partial_fit(query, y[: len(query)])
    assert np.allclose(model.means(model.code(query)), model.means(query), atol=1e-10)


def test_rows_coded_elsewhere_are_refused(data):
    x, y, _ = data
    model, other = GPHIKClassifier().fit(x, y), GPHIKClassifier().fit(x, y)
    pool = model.code(x)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.means(pool), model.means(pool))
    for call in (lambda: other.means(pool), lambda: model.fit(x, y).means(pool)):
        with pytest.raises(ValueError, match="coded by another model, or before its last fit"):
            call()
    with pytest.raises(ValueError, match="must be raw"):
        model.partial_fit(model.code(x), y)
    assert model.code(model.code(x)).nnz == pool.nnz


def test_settings_take_effect_at_the_next_fit(data):
    x, y, query = data
    model = GPHIKClassifier().fit(x, y)
    before = model.means(query), model.predict_variance(query, noisy=True), model.predict_proba(query)
    model.set_params(noise=5.0, complement=True, balance=True, kernel="rbf")
    assert np.array_equal(model.means(query), before[0])
    assert np.array_equal(model.predict_variance(query, noisy=True), before[1])
    assert np.array_equal(model.predict_proba(query), before[2])
    with pytest.raises(ValueError, match="Negative"):
        model.means(-query)


def test_quantised_means_are_near_and_exact_on_levels():
    x, query = continuous(N, 5), continuous(20, 5, seed=3)
    y = (x.sum(axis=1) > 1.5).astype(int)
    model = GPHIKClassifier(levels=None).fit(x, y)
    assert np.allclose(model.means(x, quantised=True), model.means(x), atol=1e-12)
    difference = np.abs(model.means(query, quantised=True) - model.means(query)).max()
    assert 0.0 < difference < 0.5


def test_quantisation_is_reported():
    x = continuous(size(300, 60), 5)
    y = (x.sum(axis=1) > 1.5).astype(int)
    coarse = GPHIKClassifier(levels=4).fit(x, y)
    assert coarse.n_levels_ == 20
    assert 0.0 < coarse.kernel_error_.relative < 0.2
    assert GPHIKClassifier(levels=None).fit(x, y).kernel_error_.max == 0.0
    growing = GPHIKClassifier(levels=30).fit(x[:10], y[:10])
    assert growing.kernel_error_.max == 0.0
    growing.partial_fit(x[10:], y[10:])
    assert 0.0 < growing.kernel_error_.relative < 0.2


def test_a_fit_forgets_what_was_before(data):
    x, y, query = data
    model = GPHIKClassifier().fit(x[:10], np.repeat("emu", 10)).fit(x, y)
    assert np.array_equal(model.means(query), GPHIKClassifier().fit(x, y).means(query))


def test_parameters_clone_and_pickle(data):
    x, y, query = data
    model = GPHIKClassifier(transform="power", eta=0.7, noise=0.3)
    assert model.get_params()["transform"] == "power"
    assert clone(model).set_params(transform="exp").get_params()["transform"] == "exp"
    with pytest.raises(ValueError, match=r"unknown parameters \['sigma'\]"):
        model.set_params(sigma=1.0)
    for posterior in POSTERIORS:
        fitted = clone(model).set_params(posterior=posterior).fit(x, y)
        again = pickle.loads(pickle.dumps(fitted))
        assert np.array_equal(again.means(query), fitted.means(query))
        again.partial_fit(x[:1], y[:1])


@pytest.mark.jit
def test_accuracy_on_digits():
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    x, y = load_digits(return_X_y=True)
    x = x / x.sum(axis=1, keepdims=True)
    a, b, ya, yb = train_test_split(x, y, random_state=0, stratify=y)
    assert GPHIKClassifier(noise=1.0).fit(a, ya).score(b, yb) > 0.95
