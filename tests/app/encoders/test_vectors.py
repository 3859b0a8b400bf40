import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from app.encoders import fit, restore
from core import GPHIKClassifier


@settings(max_examples=50, deadline=None)
@given(hnp.arrays(np.float64, (4, 3), elements=st.floats(-1e6, 1e6)), st.sampled_from(["auto", "columns", "none"]))
def test_positive_and_negative_parts_are_the_vector_again(x, scale):
    dense, split = (fit("vectors", list(x), {"form": form, "scale": scale}) for form in ("dense", "split"))
    table = split.encode(list(x)).table
    assert table.min() >= 0.0
    assert np.minimum(table[:, :3], table[:, 3:]).max() == 0.0
    assert np.array_equal(table[:, :3] - table[:, 3:], dense.encode(list(x)).table)
    again = restore(split.state())
    assert again.state() == split.state()
    assert np.array_equal(again.encode(list(x)).table, table)


def test_columns_of_one_kind_are_left_as_they_are():
    x = np.random.default_rng(0).normal(size=(50, 4))
    assert np.array_equal(fit("vectors", list(x)).encode(list(x)).table, x)
    unlike = x * [1, 1, 1, 1000]
    encoder = fit("vectors", list(unlike))
    assert encoder.describe()["scaled"]
    assert encoder.encode(list(unlike)).table.std(axis=0) == pytest.approx(np.ones(4))


def test_what_is_no_vector_is_broken():
    encoder = fit("vectors", ["text", [1.0, 2.0], [3, 4]])
    encoded = encoder.encode([[1, 2, 3], [1, np.nan], "text", [[1, 2]], [0, 1]])
    assert encoded.good == [4]
    assert encoded.table.shape == (1, 2)
    assert list(encoded.broken.values()) == [
        "expected 2 numbers, got 3",
        "every number must be finite",
        *["expected a list of numbers"] * 2,
    ]
    assert encoder.encode([]).table.shape == (0, 2)
    with pytest.raises(ValueError, match="none of the 1 items is a vector"):
        fit("vectors", ["text"])


def test_the_kernel_is_chosen_for_dense_vectors():
    x = np.random.default_rng(0).normal(size=(120, 2))
    y = x[:, 0] * x[:, 1] > 0
    encoder = fit("vectors", list(x))
    model = GPHIKClassifier(kernel="auto", **encoder.settings()).fit(encoder.encode(list(x)).table, y)
    assert model.choice_.name == "rbf"
    assert "split" in {contender.name for contender in model.choice_.contenders}
