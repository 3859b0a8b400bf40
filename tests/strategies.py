"""Histograms with zeros, ties, duplicate and empty rows, at any scale."""

import numpy as np
from hypothesis import strategies as st

counts = st.integers(0, 4).map(float)
scales = st.sampled_from([1.0, 1.0, 0.1, 1e-6, 1e6])


@st.composite
def histograms(draw, min_rows=1, max_rows=12, max_dims=5):
    """A non-negative matrix; few distinct values, so that ties, duplicates and zeros are common."""
    n, d = draw(st.integers(min_rows, max_rows)), draw(st.integers(1, max_dims))
    cells = draw(st.lists(st.lists(counts, min_size=d, max_size=d), min_size=n, max_size=n))
    x = np.array(cells) * draw(scales)
    if draw(st.booleans()):
        totals = x.sum(axis=1, keepdims=True)
        x = x / np.where(totals > 0, totals, 1.0)
    return x


@st.composite
def labelled(draw, min_rows=1, max_rows=12, max_classes=3):
    x = draw(histograms(min_rows=min_rows, max_rows=max_rows))
    m = draw(st.integers(1, max_classes))
    return x, np.array(draw(st.lists(st.integers(0, m - 1), min_size=len(x), max_size=len(x)))), m
