import numpy as np
import pytest
import scipy.sparse as sp

from core import Settings
from core.selection.compare import compare
from core.selection.kernel import Chooser, candidates, choose_kernel, first_kernel
from tests.core.data import size, word_counts

pytestmark = pytest.mark.jit


def test_products_of_features_need_rbf():
    x = np.random.default_rng(0).normal(size=(150, 2))
    choice = choose_kernel(Settings(), x, (x[:, 0] * x[:, 1] > 0).astype(int), 2)
    assert choice.name == "rbf"
    assert "hik" not in {c.name for c in choice.contenders}  # negative values
    assert choice.settings.kernel == "rbf"
    assert str(choice).startswith("rbf: leave-one-out squared error")


def test_steps_of_single_columns_are_for_intersections():
    """A class that hangs on whether few columns are filled: additive, not smooth."""
    rng = np.random.default_rng(0)
    x = rng.random((size(300, 60), 30)) * (rng.random((size(300, 60), 30)) < 0.3)
    y = ((x[:, 0] > 0) | (x[:, 1] > 0)).astype(int)
    choice = choose_kernel(Settings(), x, y, 2)
    assert choice.name.startswith("hik")
    assert set(candidates(Settings(), x)) == {c.name for c in choice.contenders}
    winner = next(c for c in choice.contenders if c.name == choice.name)
    assert winner.behind == 0.0
    assert all(c.behind >= -2 * c.behind_error for c in choice.contenders)


def histograms_of_any_size(n=80):
    """The class is in the shares of the columns, and nothing is in the size of a row."""
    x, y = word_counts(n, 30, 2)
    return x * 10.0 ** np.random.default_rng(1).uniform(0, 2, (n, 1)), y


def test_rows_of_very_different_sizes_are_for_the_normalised_kernel(monkeypatch):
    assert "hik-normalised" in candidates(Settings(), histograms_of_any_size()[0])
    monkeypatch.setattr("core.selection.kernel.candidates", lambda *_: ["hik", "hik-normalised"])
    x, y = histograms_of_any_size()
    choice = choose_kernel(Settings(), x, y, 2)
    assert choice.name == "hik-normalised"
    assert choice.settings.normalise
    assert choose_kernel(Settings(), x / x.sum(axis=1, keepdims=True), y, 2).name == "hik"  # the same kernel then


def test_kernels_that_differ_by_rounding_are_the_same():
    errors = np.linspace(0.5, 1.5, 20)
    assert compare({"hik": errors, "rbf": errors * (1.0 - 1e-9)}, None)[0] == "hik"
    assert compare({"hik": errors, "rbf": errors * 0.9}, None)[0] == "rbf"


def test_the_normalised_kernel_only_where_the_matrix_of_labels_fits_into_memory():
    x, y = histograms_of_any_size(40)
    room = 8 * 40**2
    tried = [choose_kernel(Settings(max_memory=most), x, y, 2, n_rows=1).contenders for most in (room, room - 1)]
    assert ["hik-normalised" in {c.name for c in contenders} for contenders in tried] == [True, False]


@pytest.mark.jit
def test_the_estimator_chooses_and_decides_again_when_labels_have_doubled():
    from core import GPHIKClassifier

    x = np.random.default_rng(0).normal(size=(200, 2))
    y = (x[:, 0] * x[:, 1] > 0).astype(int)
    model = GPHIKClassifier(kernel="auto").fit(x[:8], y[:8])
    first = model.choice_.name
    for i in range(8, 17):
        model.partial_fit(x[i : i + 1], y[i : i + 1])
    assert len(model._model.labels) == 17
    model.partial_fit(x[17:100], y[17:100])
    assert model.choice_.name == "rbf"
    assert model.score(x[100:], y[100:]) > 0.85
    assert first in {"complement", "split", "rbf", "linear"}
    model.forget([0, 1]).relabel([0], [y[2]])
    fresh = GPHIKClassifier(kernel="auto").fit(x[2:100], y[2:100])
    assert fresh.choice_.name == "rbf"
    assert np.mean(model.predict(x[100:]) == fresh.predict(x[100:])) > 0.9
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit([[np.nan, 0.0]], [0])
    assert model.get_params()["kernel"] == "auto"


@pytest.mark.parametrize("incumbent", ["hik", "linear", "rbf"])
def test_noise_changes_nothing(incumbent):
    x, _ = word_counts(80, 20, 2)
    stays = 0
    for seed in range(5):
        y = np.random.default_rng(seed).integers(0, 2, 80)
        stays += choose_kernel(Settings(), x, y, 2, incumbent).name == incumbent
    assert stays >= 4


def test_the_winner_gets_the_parameters_it_won_with():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(120, 3))
    choice = choose_kernel(Settings(), x, (np.abs(x).sum(axis=1) > 2.3).astype(int), 2)
    choice.settings.check()
    from core import GPHIKClassifier
    from core.tuning import leave_one_out

    y = (np.abs(x).sum(axis=1) > 2.3).astype(int)
    for form in (x, np.abs(x), sp.csr_matrix(np.abs(x))):
        model = GPHIKClassifier(kernel="auto", weights=[1.0, 2.0, 1.0]).fit(form, y)
        means, _ = leave_one_out(model._model)
        error = ((np.where(y[:, None] == [0, 1], 1.0, -1.0) - means) ** 2).sum(axis=1).mean()
        assert error == pytest.approx(
            next(c.error for c in model.choice_.contenders if c.name == model.choice_.name), rel=1e-6
        )


def test_dense_kernels_only_where_their_rows_fit_into_memory():
    x = np.random.default_rng(0).normal(size=(100, 3))
    room = 2 * 8 * 100 * 3  # twice the table
    assert first_kernel(Settings(max_memory=room), x) == "rbf"
    assert first_kernel(Settings(max_memory=room - 1), x) == "complement"
    assert "rbf" in candidates(Settings(max_memory=room), x, 100)
    assert "rbf" not in candidates(Settings(max_memory=room - 1), x, 100)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_the_rows_that_a_choice_is_made_by_come_and_go(form):
    x = np.arange(15.0).reshape(5, 3)
    chooser = Chooser(Settings(), table=form(x[:2]), kernel_chosen_at=2)
    chooser = chooser.with_rows(form(x[2:])).without(np.array([0, 3]))
    kept = chooser.table.toarray() if sp.issparse(chooser.table) else chooser.table
    assert np.array_equal(kept, x[[1, 2, 4]])
    assert [chooser.is_due(more) for more in (0, 1, 2)] == [False, True, True]
    mixed = chooser.with_rows(sp.csr_array(x[:1])).with_rows(x[:1])
    assert np.array_equal(mixed.table.toarray(), x[[1, 2, 4, 0, 0]])


def test_the_error_of_a_difference_is_that_of_its_mean():
    errors = {"a": np.array([0.1, 0.5, 0.3, 0.7]), "b": np.array([0.2, 0.4, 0.6, 0.8])}
    winner, contenders = compare(errors, None)
    behind = errors["b"] - errors["a"]
    assert winner == "a"
    assert contenders[1].behind_error == pytest.approx(behind.std(ddof=1) / 2.0)
    assert [c.name for c in contenders] == ["a", "b"]


def test_a_choice_knows_how_many_rows_it_was_made_by():
    x, y = word_counts(24, 5, 2)
    assert Chooser(Settings()).decided(x, y, 2).kernel_chosen_at == 24


def test_a_person_who_waits_ends_it():
    x = np.random.default_rng(0).normal(size=(30, 2))
    left = iter(range(40))  # in the middle of the second candidate or later
    with pytest.raises(StopIteration):
        choose_kernel(Settings(), x, (x[:, 0] > 0).astype(int), 2, on_step=lambda: next(left))
