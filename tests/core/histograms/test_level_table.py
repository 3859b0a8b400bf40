import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.histograms import Histograms, LevelTable, chunked, code_rows, raw_rows
from tests.core.data import continuous, size
from tests.reference.dense import nearest_level
from tests.strategies import histograms

positive = st.floats(1e-300, 1e300)
level_lists = st.lists(st.lists(positive, unique=True, max_size=6).map(sorted).map(np.array), min_size=1, max_size=4)


def values_of(rows, levels):
    """Matrix of the values that coded rows stand for."""
    x = np.zeros((len(rows), levels.n_dims))
    for i in range(len(rows)):
        codes = rows.codes[rows.starts[i] : rows.starts[i + 1]]
        x[i, levels.dims[codes]] = levels.values[codes]
    return x


def consistent(table):
    assert np.array_equal(np.sort(table.order), np.arange(len(table)))
    assert table.start[0] == 0
    assert table.start[-1] == len(table)
    for d in range(table.n_dims):
        ids = table.order[table.start[d] : table.start[d + 1]]
        assert (table.dims[ids] == d).all()
        assert (np.diff(table.values[ids]) > 0).all()
    assert np.array_equal(table.order[table.rank], np.arange(len(table)))


@given(level_lists, st.data())
def test_nearest_finds_the_nearest_level_at_any_scale(levels, data):
    table = LevelTable.of([values.astype(float) for values in levels])
    interesting = [v for values in levels for v in values] + [1e-305, 1e305]
    value = data.draw(st.sampled_from(interesting) | positive)
    value *= data.draw(st.sampled_from([1.0, 0.999, 1.5])) if value < 1e304 else 1.0
    rows = raw_rows(np.full((1, len(levels)), value))
    rows = type(rows)(np.array([0, len(levels)]), rows.dims[:-1], rows.values[:-1], len(levels))
    found = table.nearest(rows)
    for d, position in enumerate(found):
        expected = nearest_level(value, levels[d])
        assert (table.sorted_values[position] if position >= 0 else 0.0) == expected


@given(level_lists, st.data())
def test_insertion_keeps_ids_and_order(levels, data):
    table = LevelTable.of([values.astype(float) for values in levels])
    new = sorted(
        {(data.draw(st.integers(0, len(levels) - 1)), data.draw(positive)) for _ in range(data.draw(st.integers(0, 5)))}
        - {(d, float(v)) for d, values in enumerate(levels) for v in values}
    )
    dims, values = np.array([d for d, _ in new], dtype=np.int32), np.array([v for _, v in new])
    bigger = table.insert(dims, values)
    consistent(bigger)
    assert len(bigger) == len(table) + len(new)
    assert np.array_equal(bigger.values[: len(table)], table.values)
    assert np.array_equal(bigger.values[len(table) :], values)


@given(histograms(), histograms())
def test_every_distinct_value_is_a_level_and_rows_decode_to_what_they_were(x, more):
    stored = Histograms.of(x)
    consistent(stored.levels)
    assert not stored.quantised
    assert np.array_equal(values_of(stored.rows, stored.levels)[:, :-1], x)
    assert len(stored.levels) == 1 + sum(len(np.unique(column[column > 0])) for column in x.T)
    codes_before = stored.rows.codes.copy()
    more = np.resize(more, (len(more), x.shape[1]))
    coded = stored.append(raw_rows(more))
    consistent(stored.levels)
    assert np.array_equal(stored.rows.codes[: len(codes_before)], codes_before)
    assert np.array_equal(values_of(coded, stored.levels)[:, :-1], more)
    assert np.array_equal(values_of(stored.rows, stored.levels)[:, :-1], np.vstack([x, more]))


def test_codes_become_wide_when_there_are_more_than_65536_levels():
    x = continuous(300, 250, density=1.0)
    stored = Histograms.of(x[:200])
    assert stored.rows.codes.dtype == np.uint16
    stored.append(raw_rows(x[200:]))
    assert stored.rows.codes.dtype == np.uint32
    assert np.array_equal(values_of(stored.rows, stored.levels)[:, :-1], x)


def test_a_full_dimension_takes_unseen_values_to_their_nearest_level():
    stored = Histograms.of(np.array([[1.0], [2.0], [4.0]]), 3)
    assert not stored.quantised
    coded = stored.append(raw_rows(np.array([[3.5]])))
    assert stored.quantised
    assert len(stored.levels) == 4
    assert values_of(coded, stored.levels)[0, 0] == 4.0


def test_room_is_filled_before_values_are_rounded():
    stored = Histograms.of(np.array([[1.0], [2.0]]), 3)
    coded = stored.append(raw_rows(np.array([[8.0], [4.0]])))
    assert values_of(coded, stored.levels)[:, 0].tolist() == [4.0, 4.0]
    assert len(stored.levels) == 4


def test_data_in_blocks_give_the_same_histograms(monkeypatch):
    x = continuous(size(500, 40), 6)
    whole = Histograms.of(x, 9)
    monkeypatch.setattr(chunked, "BLOCK_ROWS", 7)
    parts = Histograms.of(x, 9)
    assert np.array_equal(whole.levels.values, parts.levels.values)
    assert np.array_equal(whole.rows.codes, parts.rows.codes)
    assert np.array_equal(whole.rows.starts, parts.rows.starts)


@pytest.mark.parametrize("value", [0.24, 0.26])
def test_values_nearer_to_zero_than_to_the_lowest_level_are_dropped(value):
    stored = Histograms.of(np.array([[0.5]]), 1)
    coded = code_rows(raw_rows(np.array([[value]])), stored.levels)
    assert values_of(coded, stored.levels)[0, 0] == (0.5 if value > 0.25 else 0.0)


def test_levels_that_are_spread_evenly_have_cells_of_their_own():
    """What makes a search for the nearest level take constant time."""
    search = LevelTable.of([np.arange(1.0, 101.0), 50.0 * np.arange(1.0, 41.0)]).search
    for d, levels in enumerate((100, 40)):
        held = np.diff(search.grid[search.grid_start[d] : search.grid_start[d + 1]])
        assert held.sum() == levels
        assert held.max() == 1


def test_every_dimension_has_its_own_room():
    histograms = Histograms.of(np.full((2, 3), 5.0), 3)
    more = np.outer(np.arange(1.0, 5.0), [1.0, 0.5, 2.0])
    histograms.append(raw_rows(more))
    assert np.diff(histograms.levels.start).tolist() == [3, 3, 3, 1]
    consistent(histograms.levels)


def test_rows_are_quantised_only_where_there_was_no_room():
    histograms = Histograms.of(np.array([[1.0, 2.0]]), 3)
    assert not histograms.quantised
    histograms.append(raw_rows(np.array([[3.0, 2.0], [2.0, 0.0]])))
    assert not histograms.quantised
    histograms.append(raw_rows(np.array([[2.5, 2.0]])))
    assert histograms.quantised
