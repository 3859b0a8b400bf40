import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from core import GPHIKClassifier
from tests.core.data import size, word_counts
from tests.reference import softmax as reference
from tests.reference.dense import hik

N, D = size(60, 20), 8
NAMES = np.array(["ant", "bee", "oak"])
TREE = {"ant": "insect", "bee": "insect", "insect": None}


@pytest.fixture
def data():
    x, y = word_counts(N, D, 3)
    query, _ = word_counts(9, D, 3, seed=7)
    return x, NAMES[y], query


def softmax(**settings):
    return GPHIKClassifier(likelihood="softmax", **settings)


def close(a, b):
    return np.allclose(a, b, atol=1e-4)


def test_probabilities_are_those_of_the_dense_model(data):
    x, y, query = data
    model = softmax(noise=0.2, bias=0.5).fit(x, y)
    numbers = np.searchsorted(NAMES, y)
    K = reference.joint_kernel([hik(x, x) / 0.2] * 3, np.eye(3), 0.5 / 0.2)
    weights = reference.fit(K, np.eye(3)[numbers])
    latents = (hik(query, x) / 0.2 + 0.5 / 0.2) @ weights
    expected = np.exp(latents) / np.exp(latents).sum(axis=1, keepdims=True)
    assert np.allclose(model.predict_proba(query), expected, atol=1e-5)
    assert np.array_equal(model.predict(query), NAMES[expected.argmax(axis=1)])
    assert np.allclose(model.means(query), latents - latents.mean(axis=1, keepdims=True), atol=1e-4)
    assert (model.posterior_, model.jitter_) == ("softmax", 0.0)
    assert model.residual_ < 1e-6
    assert model.parameters_ == pytest.approx({"eta": 1.0, "weight[0]": 1.0, "variance": 5.0, "intercept": 2.5})
    assert (model.predict_variance(query) > 0.0).all()
    assert np.allclose(model.predict_proba(model.code(x)), model.predict_proba(x))


@pytest.mark.parametrize("settings", [{}, {"kernel": "rbf"}, {"kernel": "linear"}, {"tree": TREE}])
def test_changes_leave_what_a_fit_would(data, settings):
    x, y, query = data
    model = softmax(levels=None, gamma=1.0, **settings).fit(x[:-4], y[:-4])
    model.partial_fit(x[-4:], y[-4:])
    assert close(model.predict_proba(query), clone(model).fit(x, y).predict_proba(query))
    model.forget([0, 5])
    x, y = np.delete(x, [0, 5], axis=0), np.delete(y, [0, 5])
    assert close(model.predict_proba(query), clone(model).fit(x, y).predict_proba(query))
    y[3] = "yew"
    model.relabel([3], ["yew"])
    assert model.classes_.tolist() == ["ant", "bee", "oak", "yew"]
    assert close(model.predict_proba(query), clone(model).fit(x, y).predict_proba(query))
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict_proba(query), model.predict_proba(query))


def test_labels_at_inner_nodes(data):
    x, y, query = data
    vague = np.where((np.arange(N) % 3 == 0) & (y != "oak"), "insect", y)
    model = softmax(tree=TREE).fit(x, vague)
    assert model.nodes_.tolist() == ["ant", "bee", "oak", "insect"]
    assert model.classes_.tolist() == ["ant", "bee", "oak"]
    by_node = model.predict_node_proba(query)
    assert np.allclose(by_node[:, 3], by_node[:, 0] + by_node[:, 1])
    assert np.allclose(by_node[:, :3], model.predict_proba(query))
    assert set(model.decide(query)) <= set(model.classes_)
    assert np.array_equal(model.decide(query, "class"), model.predict(query))
    model.partial_fit(x[:1], ["insect"]).relabel([0], ["bee"])
    assert len(model._model.labels) == N + 1
    model.partial_fit(query[:1], ["elm"])  # a class that the tree does not name
    assert model.classes_.tolist() == ["ant", "bee", "elm", "oak"]


def test_numbers_as_names():
    x, y = word_counts(N, D, 3)
    model = softmax(tree={0: 10, np.int64(1): 10}).fit(x, y)
    assert model.nodes_.tolist() == [0, 1, 2, 10]
    assert model.predict(x).dtype.kind == "i"


def test_sparse_rows_stay_sparse_under_the_linear_kernel(data):
    x, y, query = data
    model = softmax(kernel="linear").fit(sp.csr_matrix(x), y)
    assert sp.issparse(model._model.operator.x)
    dense = softmax(kernel="linear").fit(x, y)
    for form in (query, sp.csr_matrix(query)):
        assert close(model.predict_proba(form), dense.predict_proba(form))
        assert close(model.predict_variance(form), dense.predict_variance(form))
    assert close(
        model.partial_fit(query[:2], ["ant", "oak"]).predict_proba(query),
        dense.partial_fit(sp.csr_matrix(query[:2]), ["ant", "oak"]).predict_proba(query),
    )


def test_tuning_by_cross_validation(data):
    x, y, _ = data
    model = softmax(tune="cv", noise=1.0, kernel="rbf").fit(x, y)
    assert model.tuned_.criterion == "cv"
    assert model.tuned_.evaluations > 1
    assert model.parameters_["variance"] != 1.0
    before = model.tuned_.value
    assert model.tune().tuned_.value <= before + 1e-3
    tree = softmax(tree=TREE, tune_weights=True, weights=[1.0, 1.0], groups=np.arange(D) % 2, tune="cv").fit(x, y)
    assert tree.parameters_["variance[1]"] != tree.parameters_["variance[2]"]
    assert tree.parameters_["weight[0]"] != 1.0
    assert softmax(tune="cv").fit(x[:3], y[:3]).parameters_["variance"] == 10.0  # too little to learn from


@pytest.mark.parametrize(("tree", "nodes"), [pytest.param(None, 3, marks=pytest.mark.jit), (TREE, 4)])
def test_a_variance_for_each_class(data, tree, nodes):
    x, y, _ = data
    y = np.where(np.arange(N) % 5 == 0, "oak", y)  # so that no variance is large enough
    shared, own = (softmax(tree=tree, tune="cv", class_variances=each).fit(x, y) for each in (False, True))
    assert own.tuned_.value < shared.tuned_.value
    assert len({own.parameters_[f"variance[{node}]"] for node in range(nodes)}) == nodes


def test_a_class_has_the_variance_of_the_kernel_over_the_noise_with_a_tree_and_without(data):
    x, y, _ = data
    flat, tree = softmax(noise=0.2).fit(x, y), softmax(noise=0.2, tree=TREE).fit(x, y)
    assert (flat.parameters_["variance"], tree.parameters_["variance[1]"], tree.parameters_["variance[2]"]) == (
        5,
        2.5,
        2.5,
    )
    assert flat.parameters_["intercept"] == tree.parameters_["intercept"] == 5.0


@pytest.mark.jit
def test_the_best_kernel_is_chosen_first():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 2))
    y = (x[:, 0] * x[:, 1] > 0).astype(int)
    model = softmax(kernel="auto").fit(x[:25], y[:25])
    model.partial_fit(x[25:], y[25:])
    assert model.choice_.name == "rbf"
    assert model.posterior_ == "softmax"
    assert (model.predict(x) == y).mean() > 0.9


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"likelihood": "probit"}, "likelihood must be one of"),
        ({"likelihood": "auto"}, "likelihood must be one of"),
        ({"likelihood": "gaussian", "tree": TREE}, 'belong to likelihood="softmax"'),
        ({"likelihood": "gaussian", "class_variances": True}, 'belong to likelihood="softmax"'),
        ({"likelihood": "gaussian", "tune": "cv"}, "tune must be one of"),
        ({"tune": "loo"}, "tune must be one of"),
        ({"balance": True}, "belong to likelihood"),
        ({"kernel": "auto", "tree": TREE}, "name a kernel"),
        ({"tree": ["ant"]}, "parent of each node"),
        ({"tree": {"ant": "bee", "bee": "ant"}}, "cycle"),
        ({"tree": {1: 2}}, "all text or all numbers"),
    ],
)
def test_what_does_not_fit(data, settings, message):
    x, y, _ = data
    with pytest.raises(ValueError, match=message):
        softmax().set_params(**settings).fit(x, y)


def test_what_softmax_does_not_have(data):
    x, y, query = data
    model = softmax().fit(x, y)
    for wrong in ({"noisy": True}, {"method": "rapu"}):
        with pytest.raises(ValueError, match="variance of the functions alone"):
            model.predict_variance(query, **wrong)
    with pytest.raises(ValueError, match="criterion must be one of"):
        model.tune("loo")
