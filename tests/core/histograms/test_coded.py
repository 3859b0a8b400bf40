import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.histograms import CodedRows

code_lists = st.lists(st.lists(st.integers(0, 70_000), max_size=4), max_size=5)


def coded(rows, dtype=np.uint32):
    starts = np.concatenate(([0], np.cumsum([len(row) for row in rows]))).astype(np.int64)
    return CodedRows.of(np.array([c for row in rows for c in row], dtype=dtype), starts)


def as_lists(rows):
    return [rows.codes[rows.starts[i] : rows.starts[i + 1]].tolist() for i in range(len(rows))]


@given(st.lists(code_lists, max_size=4), st.data())
def test_rows_come_and_go_like_in_a_list(batches, data):
    rows, twin = coded([]), []
    for batch in batches:
        rows.append(coded(batch))
        twin += batch
        if twin and data.draw(st.booleans()):
            gone = data.draw(st.sets(st.integers(0, len(twin) - 1)))
            rows.remove(np.array(sorted(gone), dtype=np.int64))
            twin = [row for i, row in enumerate(twin) if i not in gone]
        assert as_lists(rows) == twin
        assert rows.nnz == sum(map(len, twin))
    order = data.draw(st.permutations(range(len(twin))))
    assert as_lists(rows.take(np.array(order, dtype=np.int64))) == [twin[i] for i in order]


def test_appending_copies_the_whole_only_now_and_then():
    rows = coded([[1, 2, 3]])
    one = coded([[4, 5, 6]])
    buffers = set()
    for _ in range(1000):
        rows.append(one)
        buffers.add(id(rows._codes))
    assert len(buffers) < 15


def test_arrays_taken_before_a_change_keep_what_they_showed():
    rows = coded([[1], [2, 3]])
    rows.append(coded([[4]]))
    codes, starts = rows.codes, rows.starts
    rows.append(coded([[9]]))
    rows.remove(np.array([0]))
    assert codes.tolist() == [1, 2, 3, 4]
    assert starts.tolist() == [0, 1, 3, 4]


def test_narrow_rows_widen_when_they_must():
    rows = coded([[1]], np.uint16)
    rows.append(coded([[70_000]], np.uint32))
    assert as_lists(rows) == [[1], [70_000]]


def test_codes_that_kernels_do_not_know_are_refused():
    starts = np.array([0, 2])
    with pytest.raises(ValueError, match="unsigned integers of 16 or 32 bits, and starts of 64; got int64 and int64"):
        CodedRows.of(np.array([-1, 3]), starts)
    with pytest.raises(ValueError, match="got uint16 and int32"):
        CodedRows.of(np.zeros(2, dtype=np.uint16), starts.astype(np.int32))
    with pytest.raises(ValueError, match="within their 1 codes; the last one ends at 2"):
        CodedRows.of(np.zeros(1, dtype=np.uint16), starts)
