import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given

from core.histograms import chunked, raw_rows
from tests.core.data import either_form
from tests.strategies import histograms


def dense_again(rows):
    return sp.csr_array((rows.values, rows.dims, rows.starts), shape=(len(rows), rows.n_dims)).toarray()


@given(histograms())
def test_rows_hold_the_matrix_and_a_constant_one(x):
    expected = np.hstack([x, np.ones((len(x), 1))])
    for form in either_form(x):
        rows = raw_rows(form)
        assert np.array_equal(dense_again(rows), expected)
        assert rows.values.all()  # zeros are never stored
        for i in range(len(rows)):
            assert (np.diff(rows.dims[rows.starts[i] : rows.starts[i + 1]]) > 0).all()


def test_csr_with_unsorted_duplicate_and_explicit_zero_entries():
    x = sp.csr_matrix((np.array([1.0, 2.0, 0.0, 4.0]), np.array([1, 0, 2, 1]), np.array([0, 4])), shape=(1, 3))
    before = x.data.copy()
    assert dense_again(raw_rows(x)).tolist() == [[2.0, 5.0, 0.0, 1.0]]
    assert np.array_equal(x.data, before)


def test_more_than_65535_columns():
    x = sp.csr_matrix((np.array([1.0]), np.array([70_000]), np.array([0, 1])), shape=(1, 80_000))
    assert raw_rows(x).dims.tolist() == [70_000, 80_000]


def test_blocks_cover_all_rows(monkeypatch):
    monkeypatch.setattr(chunked, "BLOCK_ROWS", 3)
    x = np.arange(8.0)[:, None]
    for form in either_form(x):
        blocks = [raw_rows(block) for block in chunked.blocks_of(form)]
        assert [len(block) for block in blocks] == [3, 3, 2]
        assert np.array_equal(np.vstack([dense_again(block) for block in blocks])[:, :1], x)


@pytest.mark.parametrize("rows", [[], [2], [2, 0], [1, 1]])
def test_take(rows):
    x = np.array([[1.0, 0.0], [0.0, 0.0], [2.0, 3.0]])
    taken = raw_rows(x).take(np.array(rows, dtype=np.int64))
    assert np.array_equal(dense_again(taken)[:, :2], x[rows])
