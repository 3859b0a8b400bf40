"""Tables that are read in blocks: the same answers to the last bit as the table itself."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from core import Labelling, OnlineLearner, Settings
from core.histograms import Chunked, Complement, chunked, pairwise_reduced
from tests.core.data import continuous, either_form, word_counts


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(chunked, "BLOCK_ROWS", 7)


def read_from(x):
    """In chunks; tells the most rows that were read at once."""

    def read(first, last):
        read.most = max(read.most, last - first)
        return x[first:last]

    read.most = 0
    return Chunked(x.shape, read), read


def plain(x):
    return x.toarray() if sp.issparse(x) else x


@pytest.mark.parametrize("rows", [slice(0, 0), slice(3, 12), slice(18, 99), [], [19], [19, 0, 7, 0, 8, 6]])
def test_rows_are_those_of_the_table(rows, small_blocks):
    for x in either_form(continuous(20, 3)):
        table, _ = read_from(x)
        wanted = rows if isinstance(rows, slice) else np.array(rows, dtype=np.int64)
        assert np.array_equal(plain(table[wanted]), plain(x[wanted]))


def test_ranges_are_those_of_the_table(small_blocks):
    x = continuous(20, 3)
    found, expected = Complement.of(read_from(x)[0]), Complement.of(x)
    assert np.array_equal(found.low, expected.low)
    assert np.array_equal(found.high, expected.high)


@given(st.integers(1, 40), st.integers(0, 3))
def test_it_does_not_matter_who_joins_what(n, height):
    def join(a, b):
        return f"({a} {b})"

    parts = [str(i) for i in range(n)]
    groups = [parts[first : first + 2**height] for first in range(0, n, 2**height)]
    assert pairwise_reduced(join, parts) == pairwise_reduced(join, (pairwise_reduced(join, some) for some in groups))


@pytest.mark.parametrize(
    "settings",
    [
        Settings(),
        Settings(levels=5),
        Settings(complement=True),
        Settings(kernel="rbf"),
        Settings(kernel="auto"),
        Settings(likelihood="softmax"),
    ],
)
def test_a_learner_of_chunks_is_that_of_the_table(settings, small_blocks):
    x, y = word_counts(40, 6, 2)
    labelling = Labelling(("a", "b"), {item: "ab"[y[item]] for item in range(12)})
    for form in either_form(x):
        table, read = read_from(form)
        streamed = OnlineLearner.build(settings, table, labelling, train=settings.kernel == "auto")
        whole = OnlineLearner.build(settings, form, labelling, train=settings.kernel == "auto")
        assert read.most == 7
        assert np.array_equal(streamed.mean, whole.mean)
        assert np.array_equal(streamed.variance, whole.variance)


def test_what_cannot_be_used_is_found_when_it_is_read(small_blocks):
    x = continuous(20, 3)
    x[17, 1] = -1.0
    with pytest.raises(ValueError, match="-1 at row 3, column 1"):
        OnlineLearner(Settings()).add_items(read_from(x)[0])
