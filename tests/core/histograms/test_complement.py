import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from core.histograms import Complement, split_signs
from tests.core.data import either_form
from tests.reference.dense import hik

matrices = arrays(float, st.tuples(st.integers(1, 8), st.integers(1, 4)), elements=st.floats(-1e300, 1e300))


@given(matrices)
def test_intersection_of_complements_is_one_minus_the_distance(x):
    low, high = x.min(axis=0), x.max(axis=0)
    for form in either_form(x):
        coded = Complement.of(form)(form)
        assert coded.min() >= 0.0
        assert coded.max() <= 1.0
        span = high / 2 - low / 2
        scaled = np.where(span > 0, (x / 2 - low / 2) / np.where(span > 0, span, 1), 0.0)
        expected = (1.0 - np.abs(scaled[:, None] - scaled)).sum(axis=2)
        assert np.allclose(hik(coded, coded), expected, atol=1e-12)


def test_values_outside_of_the_range_are_taken_to_its_ends():
    complement = Complement.of(np.array([[0.0], [4.0]]))
    assert complement(np.array([[-1.0], [5.0]])).tolist() == [[0.0, 1.0], [1.0, 0.0]]


@given(matrices)
def test_intersection_of_split_signs_is_that_of_magnitudes_of_the_same_sign(x):
    expected = np.where(x[:, None] * np.sign(x) >= 0, np.minimum(np.abs(x[:, None]), np.abs(x)), 0.0).sum(axis=2)
    for form in either_form(x):
        coded = split_signs(form)
        coded = coded.toarray() if hasattr(coded, "toarray") else coded
        assert coded.min() >= 0.0
        assert np.allclose(hik(coded, coded), expected)
