"""Sums of kernels in the estimator: against a dense twin, and what their weights say."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel

from core import Channel, GPHIKClassifier
from tests.core.data import size, word_counts
from tests.reference.dense import DenseGP, hik, targets

N = size(60, 24)
CHANNELS = [Channel(columns=(0, 6), normalise=True, weight=0.6), Channel("rbf", columns=(4, 10), gamma=2.0)]


def dense(a, b):
    """0.6 times the normalised intersection of six columns, and an RBF kernel of six."""
    h, own = hik(a[:, :6], b[:, :6]), [np.sqrt(hik(x[:, :6], x[:, :6]).diagonal()) for x in (a, b)]
    return 0.3 + 0.6 * h / own[0][:, None] / own[1] + rbf_kernel(a[:, 4:], b[:, 4:], gamma=2.0)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_it_equals_the_dense_twin(form):
    x, y = word_counts(N, 10, 3)
    query = word_counts(9, 10, 3, seed=7)[0]
    model = GPHIKClassifier(kernel=CHANNELS, bias=0.3, noise=0.2).fit(form(x[:-4]), y[:-4])
    model.partial_fit(form(x[-4:]), y[-4:])
    twin = DenseGP(dense(x, x), targets(y, 3), np.full(N, 0.2))
    cross = dense(x, query)
    assert np.allclose(model.means(form(query)), twin.means(cross), atol=1e-8)
    expected = twin.variance(cross, np.diag(dense(query, query)))
    assert np.allclose(model.predict_variance(form(query)), expected, atol=1e-8)
    assert model.posterior_ == "dual"
    assert list(model.parameters_) == ["gamma[1]", "bias", "weight[0]", "weight[1]", "noise"]
    assert clone(model).fit(form(x), y).predict(form(query)).tolist() == model.predict(form(query)).tolist()


@pytest.mark.jit
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("tune", ["loo", "evidence"])
def test_a_useless_channel_goes_to_nothing(tune):
    rng = np.random.default_rng(0)
    x, y = word_counts(200, 8, 2)
    x = np.hstack([x, rng.normal(size=(200, 4))])
    channels = [Channel(columns=(0, 8)), Channel("linear", columns=(8, 12))]
    found = GPHIKClassifier(kernel=channels, tune=tune, l1=0.01).fit(x, y).parameters_
    words, noise = x[:, :8].sum(axis=1).mean(), (x[:, 8:] ** 2).sum(axis=1).mean()
    assert found["weight[1]"] * noise < 0.05 * found["weight[0]"] * words


@pytest.mark.jit
def test_together_channels_see_more_than_each_alone():
    """A class by one column alone and one by two together."""
    rng = np.random.default_rng(1)
    x = rng.random((400, 4))
    y = (x[:, 0] > 0.5).astype(int) + 2 * ((x[:, 1] > 0.5) ^ (x[:, 2] > 0.5))
    additive, together = Channel(complement=True), Channel("rbf")
    scores = [
        GPHIKClassifier(kernel=kernel, tune="loo").fit(x[:150], y[:150]).score(x[150:], y[150:])
        for kernel in ([additive, together], [additive], [together])
    ]
    assert scores[0] > scores[1] + 0.1
    assert scores[0] > scores[2] - 0.02


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"kernel": []}, "a Channel for each"),
        ({"kernel": ["hik"]}, "a Channel for each"),
        ({"kernel": CHANNELS, "complement": True}, "complement belongs to the channels"),
        ({"kernel": CHANNELS, "posterior": "levels"}, 'posterior="dual"'),
        ({"kernel": CHANNELS, "tune": "bound"}, "another tune"),
        ({"kernel": [Channel(columns=(4, 99))]}, "columns 4 to 99, but there are 10"),
        ({"kernel": [Channel(columns=(3, 3))]}, "columns 3 to 3"),
        ({"kernel": [Channel("rbf", complement=True)]}, "belong to kernel"),
        ({"kernel": [Channel(weight=-1.0)]}, "weight must be"),
    ],
)
def test_what_does_not_fit_is_said(settings, error):
    x, y = word_counts(20, 10, 2)
    with pytest.raises(ValueError, match=error):
        GPHIKClassifier(**settings).fit(x, y)


def test_negative_values_are_refused_where_a_histogram_reads_them():
    x, y = word_counts(20, 10, 2)
    x[3, 8] = -1.0
    GPHIKClassifier(kernel=CHANNELS).fit(x, y)
    x[3, 2] = -1.0
    with pytest.raises(ValueError, match="Negative values"):
        GPHIKClassifier(kernel=CHANNELS).fit(x, y)
