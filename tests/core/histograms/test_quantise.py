import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from core.histograms import Histograms, chunked, quantise
from core.histograms.quantise import AUTO_LEVELS, FEW_LEVELS, choose_levels, distinct_values, room_for
from core.histograms.raw import raw_rows
from tests.core.data import continuous, either_form
from tests.strategies import histograms

values = st.lists(st.floats(1e-150, 1e150), min_size=1, max_size=40, unique=True).map(sorted).map(np.array)


@given(values, st.integers(1, 45), st.data())
def test_levels_are_few_ascending_and_within_the_data(values, limit, data):
    counts = np.array(data.draw(st.lists(st.integers(1, 9), min_size=len(values), max_size=len(values))))
    levels = choose_levels(values, counts, limit)
    assert 1 <= len(levels) <= limit
    assert (np.diff(levels) > 0).all()
    assert values[0] * (1 - 1e-12) <= levels[0]
    assert levels[-1] <= values[-1] * (1 + 1e-12)
    if len(values) <= limit:
        assert np.array_equal(levels, values)


def test_levels_have_less_error_than_equal_steps_and_than_quantiles():
    rng = np.random.default_rng(0)
    for sample in (rng.exponential(size=4000), rng.lognormal(sigma=2, size=4000), rng.random(4000)):
        x = np.sort(sample)

        def error(levels, x=x):
            return np.mean(np.min(np.abs(x[:, None] - levels), axis=1) ** 2)

        ours = error(choose_levels(x, np.ones(len(x), dtype=int), 20))
        assert ours < 1.05 * error(np.linspace(x[0], x[-1], 20))
        assert ours < 1.05 * error(np.quantile(x, (np.arange(20) + 0.5) / 20))


@given(histograms(), st.integers(1, 5))
def test_distinct_values_of_blocks_are_those_of_the_whole(x, rows):
    for form in either_form(x):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(chunked, "BLOCK_ROWS", rows)
            merged = distinct_values(form)
        columns = np.hstack([x, np.ones((len(x), 1))]).T
        expected = {d: np.unique(column[column > 0], return_counts=True) for d, column in enumerate(columns)}
        assert list(merged) == [d for d, (values, _) in expected.items() if len(values)]
        for d, (found, counts) in merged.items():
            assert np.array_equal(found, expected[d][0])
            assert np.array_equal(counts, expected[d][1])


def test_columns_without_values_cost_nothing(monkeypatch):
    """A million of them would keep everybody else from the interpreter: only those with values are looked at."""
    looked_at = []
    choose = quantise.choose_levels
    monkeypatch.setattr(quantise, "choose_levels", lambda *args: looked_at.append(1) or choose(*args))
    x = sp.csr_array(([0.5, 2.0, 1.0], ([0, 1, 1], [7, 7, 2**20 - 1])), shape=(2, 2**20))
    stored = Histograms.of(x, "auto")
    assert len(looked_at) == 3  # with the constant one
    assert stored.levels.n_dims == 2**20 + 1
    assert stored.levels.dims.tolist() == [7, 7, 2**20 - 1, 2**20]
    assert stored.levels.values[stored.rows.codes].tolist() == [0.5, 1.0, 2.0, 1.0, 1.0]


def test_auto_keeps_everything_while_it_is_little():
    x = continuous(50, 20)
    assert len(Histograms.of(x, "auto").levels) == 1 + np.count_nonzero(x)


@pytest.mark.jit
def test_auto_keeps_all_that_codes_of_16_bits_can_tell_apart():
    x = continuous(4000, 30, density=0.9)
    stored = Histograms.of(x, "auto")
    assert stored.quantised
    assert 0.7 * AUTO_LEVELS < len(stored.levels) <= AUTO_LEVELS
    assert stored.rows.codes.dtype == np.uint16
    assert not Histograms.of(x[:2000], "auto").quantised


@pytest.mark.jit
@pytest.mark.parametrize("n_dims", [3, 30, 400])
def test_few_keeps_levels_in_the_thousands(n_dims):
    x = continuous(4000, n_dims, density=0.9)
    stored = Histograms.of(x, "few")
    assert stored.quantised
    assert len(stored.levels) <= FEW_LEVELS + 1
    assert len(stored.levels) > 0.7 * FEW_LEVELS


def test_few_spends_on_dimensions_that_need_it():
    rich, poor = np.linspace(0.1, 1.0, 9000), np.array([0.5, 1.0])
    room = room_for("few", {0: (rich, np.ones(9000)), 5: (poor, np.ones(2)), 7: (poor, np.ones(2))})
    assert room.limit == FEW_LEVELS - 1 - 4


@pytest.mark.parametrize("first", [1, 5, 4000])
def test_few_bounds_what_later_rows_may_add(first):
    x = continuous(9000, 4, density=1.0)
    x[:, 1:] = np.round(x[:, 1:], 2)  # one rich column among poorer ones
    stored = Histograms.of(x[:first], "few")
    for start in range(first, len(x), 2000):
        stored.append(raw_rows(x[start : start + 2000]))
    assert len(stored.levels) <= FEW_LEVELS + 4 * 4
    assert len(stored.levels) > 4000


def test_auto_leaves_every_column_some_levels_however_many_there_are():
    rng = np.random.default_rng(0)
    x = sp.random(60, 10_000, 0.01, "csr", random_state=rng)
    stored = Histograms.of(x[:1], "auto")
    stored.append(raw_rows(x[1:]))
    per_column = np.diff(stored.levels.start)[:-1]
    assert (per_column >= np.minimum(4, np.diff(x.tocsc().indptr))).all()
