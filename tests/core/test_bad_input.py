"""Bad input gets an error that says where it is, and loses nothing; odd input works."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from core import GPHIKClassifier
from core.posterior import POSTERIORS
from tests.core.data import continuous

X = np.array([[0.2, 0.8, 0.0], [0.5, 0.0, 0.5], [1.0, 0.0, 0.0], [0.0, 0.3, 0.7]])
Y = np.array([0, 1, 1, 0])


def with_value(value, row=2, column=1):
    x = X.copy()
    x[row, column] = value
    return x


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.csc_array])
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (-0.5, "-0.5 at row 2, column 1.*complement=True"),
        (np.nan, "NaN at row 2, column 1"),
        (np.inf, "infinity at row 2, column 1"),
        (-np.inf, "infinity at row 2, column 1"),
    ],
)
def test_values_are_named_with_row_and_column(form, value, message):
    bad = form(with_value(value))
    model = GPHIKClassifier()
    with pytest.raises(ValueError, match=message):
        model.fit(bad, Y)
    model.fit(X, Y)
    before = model.means(X)
    for call in (model.predict, model.means, model.predict_proba, model.predict_variance, model.code):
        with pytest.raises(ValueError, match=message):
            call(bad)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(bad, Y)
    assert np.array_equal(model.means(X), before)


@pytest.mark.parametrize("kernel", [{"complement": True}, {"split": True}, {"kernel": "rbf"}, {"kernel": "linear"}])
def test_negative_values_are_fine_where_the_kernel_takes_them(kernel):
    model = GPHIKClassifier(**kernel).fit(with_value(-0.5), Y)
    assert np.isfinite(model.means(with_value(-3.0))).all()
    with pytest.raises(ValueError, match="NaN at row 2, column 1"):
        model.means(with_value(np.nan))


def test_huge_values_whose_sum_overflows_are_valid():
    x = np.full((3, 2), 1.7e308)
    assert np.isfinite(GPHIKClassifier(complement=True).fit(x, [0, 1, 0]).means(x)).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.partial_fit(X[:, :2], Y), "2 features.*expecting 3"),
        (lambda m: m.predict(X[:, :2]), "2 features.*expecting 3"),
        (lambda m: m.predict(np.empty((0, 3))), "0 sample"),
        (lambda m: m.partial_fit(np.empty((0, 3)), []), "0 sample"),
        (lambda m: m.partial_fit(X, Y[:3]), "4 rows but 3 labels"),
        (lambda m: m.partial_fit(X, ["a", "b", "a", "b"]), "all text or all numbers"),
        (lambda m: m.relabel([0], [0, 1]), "1 rows but 2 labels"),
        (lambda m: m.relabel([0], ["a"]), "all text or all numbers"),
        (lambda m: m.forget([4]), "from 0 to 3"),
        (lambda m: m.forget([-1]), "from 0 to 3"),
        (lambda m: m.forget([1, 1]), "different"),
        (lambda m: m.forget([0.5]), "whole numbers"),
        (lambda m: m.partial_fit(X, Y, classes=[[0, 1]]), "list of class labels"),
    ],
)
def test_a_refused_change_leaves_the_model_as_it_was(call, message):
    model = GPHIKClassifier().fit(X, Y)
    before = model.means(X)
    with pytest.raises(ValueError, match=message):
        call(model)
    assert np.array_equal(model.means(X), before)
    assert model.classes_.tolist() == [0, 1]
    model.partial_fit(X[:1], Y[:1]).forget([4])
    assert np.allclose(model.means(X), before, atol=1e-12)


def test_rows_that_overflow_the_transform_are_refused_before_anything_changes():
    model = GPHIKClassifier(transform="power", eta=3.0).fit(X, Y)
    before = model.means(X)
    with pytest.raises(ValueError, match="not finite"):
        model.partial_fit(X * 1e150, [5, 6, 7, 8])
    assert model.classes_.tolist() == [0, 1]
    assert np.array_equal(model.means(X), before)
    assert np.allclose(model.partial_fit(X[:1], Y[:1]).forget([4]).means(X), before)


@pytest.mark.parametrize("balance", [False, True])
@pytest.mark.parametrize("posterior", POSTERIORS)
def test_a_change_that_fails_half_way_is_taken_back(posterior, balance, monkeypatch):
    x = continuous(20, 4)
    model = GPHIKClassifier(posterior=posterior, balance=balance, levels=None).fit(x, np.arange(20) % 2)
    before = model.means(x)
    changes = {
        "add": lambda: model.partial_fit(x[:3] * 0.77, [0, 1, 9]),
        "remove": lambda: model.forget([3, 4]),
        "relabel": lambda: model.relabel([0], [7]),
    }
    kind = type(model._model.posterior)
    for name, change in changes.items():
        steps = (
            ("_fit",) if balance else {"add": ("_added",), "remove": ("_removed",), "relabel": ("_retargeted",)}[name]
        )
        working = {step: getattr(kind, step) for step in steps}

        def fail(self, *args, working=working):
            for step, method in working.items():
                setattr(kind, step, method)  # the way back works again
            raise np.linalg.LinAlgError("no factor")

        for step in steps:
            monkeypatch.setattr(kind, step, fail)
        with pytest.raises(np.linalg.LinAlgError):
            change()
        assert model.classes_.tolist() == [0, 1]
        assert np.allclose(model.means(x), before, atol=1e-6)
        assert model.residual_ < 1e-7
    model.partial_fit(x[:3] * 0.77, [0, 1, 0]).forget([20, 21, 22])
    assert np.allclose(model.means(x), before, atol=1e-6)


@pytest.mark.parametrize(
    ("settings", "row"),
    [
        ({"kernel": "rbf", "gamma": 1.0}, 1e200),
        ({"kernel": "linear"}, 1e200),
        ({}, 1e308),
        ({"transform": "exp", "eta": 2.0, "posterior": "levels"}, 1e4),
    ],
)
def test_rows_whose_kernel_is_not_finite_are_refused(settings, row):
    model = GPHIKClassifier(**settings).fit(X, Y)
    before = model.means(X)
    with pytest.raises(ValueError, match="not finite"):
        model.partial_fit(np.full((1, 3), row), [5])
    assert model.classes_.tolist() == [0, 1]
    assert np.array_equal(model.means(X), before)
    model.partial_fit(X[:1], Y[:1]).forget([4])
    assert np.allclose(model.means(X), before, atol=1e-9)


def test_a_fit_that_fails_leaves_the_model_that_was_there():
    model = GPHIKClassifier(transform="power", eta=3.0).fit(X, Y)
    before = model.means(X)
    for bad, labels in ((np.full((2, 2), np.nan), [5, 6]), (X * 1e150, [5, 6, 5, 6]), (X, [1, 2])):
        with pytest.raises(ValueError, match=r"NaN|not finite|inconsistent"):
            model.fit(bad, labels)
        assert np.array_equal(model.means(X), before)
        assert model.predict(X).tolist() == Y.tolist()
    fresh = GPHIKClassifier(transform="power", eta=3.0)
    with pytest.raises(ValueError, match="not finite"):
        fresh.fit(X * 1e150, Y)
    with pytest.raises(NotFittedError):
        fresh.predict(X)


def test_labels_that_no_type_can_hold_together_are_refused():
    big = np.array([2**60, 2**60 + 1] * 2, dtype=np.uint64)
    model = GPHIKClassifier().fit(X, big)
    with pytest.raises(ValueError, match="do not fit into one type"):
        model.partial_fit(X[:1], np.array([3]))
    assert model.classes_.tolist() == [2**60, 2**60 + 1]
    for classes in ([[0, 1]], [0.0, np.nan], 3):
        with pytest.raises(ValueError, match="list of class labels"):
            GPHIKClassifier().partial_fit(X, Y, classes=classes)


def test_duplicate_entries_are_summed_before_they_are_judged():
    entries = np.array([2.0, -1.0, 1.0]), np.array([0, 0, 1]), np.array([0, 2, 3])
    model = GPHIKClassifier().fit(sp.csr_matrix(entries, shape=(2, 2)), [0, 1])
    assert np.allclose(
        model.means(np.array([[1.0, 0.0]])), GPHIKClassifier().fit(np.eye(2), [0, 1]).means([[1.0, 0.0]])
    )


def test_first_data():
    for X_bad, y_bad, message in [
        (np.empty((0, 3)), [], "0 sample"),
        (np.empty((3, 0)), [0, 1, 0], "0 feature"),
        (X, Y[:3], "inconsistent numbers of samples"),
        (X, [0.1, 0.2, 0.3, 0.4], "continuous"),
        (X[0], [0], "2D array"),
    ]:
        with pytest.raises(ValueError, match=message):
            GPHIKClassifier().fit(X_bad, y_bad)


def test_a_model_that_learnt_nothing_says_so():
    for call in ("predict", "means", "predict_proba", "predict_variance", "code"):
        with pytest.raises(NotFittedError):
            getattr(GPHIKClassifier(), call)(X)
    with pytest.raises(NotFittedError):
        GPHIKClassifier().forget([0])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kernel": "poly"}, "kernel must be one of 'hik', 'rbf', 'linear', 'auto'; got 'poly'"),
        ({"transform": "log"}, "transform must be one of"),
        ({"posterior": "exact"}, "posterior must be one of"),
        ({"noise": 0.0}, "noise must be a finite number above 0"),
        ({"noise": "a lot"}, "noise must be"),
        ({"eta": -1.0}, "eta must be"),
        ({"bias": -0.1}, "bias must be a finite number of at least 0"),
        ({"gamma": 0.0, "kernel": "rbf"}, "gamma must be"),
        ({"max_memory": np.nan}, "max_memory must be"),
        ({"levels": 0}, "levels must be"),
        ({"levels": "many"}, "levels must be"),
        ({"levels": True}, "levels must be"),
        ({"levels": [1, 2]}, "levels must be"),
        ({"balance": "no"}, "balance must be one of False, True"),
        ({"class_weights": [1, 2]}, "class_weights must give the weight of classes"),
        ({"class_weights": {"a": 0.0}}, "class_weights.'a'. must be"),
        ({"class_weights": {"a": 2}, "likelihood": "softmax"}, "belong to likelihood"),
        ({"weights": "abc"}, "weights must hold 3"),
        ({"groups": ["a", "b", "c"]}, "groups must hold"),
        ({"weights": [1.0]}, "weights must hold 3"),
        ({"kernel": "rbf", "complement": True}, "belong to kernel"),
        ({"kernel": "rbf", "split": True}, "belong to kernel"),
        ({"split": True, "complement": True}, "choose one"),
        ({"kernel": "linear", "posterior": "levels"}, "needs posterior"),
    ],
)
def test_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        GPHIKClassifier(**settings).fit(X, Y)


def test_only_histograms_are_coded():
    model = GPHIKClassifier(kernel="rbf").fit(X, Y)
    with pytest.raises(ValueError, match="kernel='rbf'"):
        model.code(X)


ODD = {
    "all-zero rows": (np.zeros((4, 3)), [0, 1, 0, 1]),
    "duplicate rows that contradict each other": (np.repeat(X[:1], 9, axis=0), [0, 1, 2] * 3),
    "a single class": (X, ["only"] * 4),
    "a single row": (X[:1], [1]),
    "constant columns": (np.hstack([X, np.ones((4, 2))]), Y),
    "values of 1e-150": (X * 1e-150, Y),
    "values of 1e150": (X * 1e150, Y),
    "values of every size": (X * np.array([1e-150, 1.0, 1e150]), Y),
    "duplicate rows of 1e150": (np.repeat(X * 1e150, 3, axis=0), np.repeat(Y, 3)),
    "values below the normal range": (X * 1e-310, Y),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("posterior", [*POSTERIORS, "auto"])
@pytest.mark.parametrize("case", ODD)
def test_odd_data_work(case, posterior):
    x, y = ODD[case]
    model = GPHIKClassifier(posterior=posterior).fit(x, y)
    for step in range(4):
        probabilities, variance = model.predict_proba(x), model.predict_variance(x)
        assert np.isfinite(probabilities).all()
        assert np.allclose(probabilities.sum(axis=1), 1.0)
        assert np.isfinite(variance).all()
        assert (variance >= 0.0).all()
        assert np.isin(model.predict(x), y).all()
        if step == 0:
            model.partial_fit(x[:1], y[:1])
        elif step == 1:
            model.forget([0])
        elif step == 2:
            model.partial_fit(x, y)


@pytest.mark.parametrize("posterior", ["dual", "levels"])
def test_huge_and_tiny_values_are_predicted_right(posterior):
    x = continuous(20, 3, density=1.0)
    y = (x[:, 0] > x[:, 1]).astype(int)
    for scale in (1e-150, 1e150):
        # With noise and bias scaled alike, the mean does not change.
        model = GPHIKClassifier(posterior=posterior, noise=0.1 * scale, bias=scale, levels=None).fit(x * scale, y)
        plain = GPHIKClassifier(posterior=posterior, levels=None).fit(x, y)
        assert np.allclose(model.means(x * scale), plain.means(x), atol=1e-8)


def test_giving_up_is_said_aloud():
    x = continuous(6, 3)
    with pytest.warns(ConvergenceWarning, match="rounds"):
        GPHIKClassifier(posterior="iterative", levels=None).fit(np.repeat(x * 1e150, 3, axis=0), np.tile([0, 1, 2], 6))
