import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.encoders.numbers import amount_of, are_truths, is_missing, number_of, truth_of, unit_of


@pytest.mark.parametrize("cell", ["", " ", "NA", "n/a", "NaN", "null", "None", "?", "-"])
def test_what_stands_for_nothing_is_missing(cell):
    assert is_missing(cell)
    assert number_of(cell) is truth_of(cell) is None
    assert amount_of(cell, ".", "") is None


@pytest.mark.parametrize(
    ("cell", "sign", "unit", "value"),
    [
        *[("12 kg", ".", "kg", 12.0), ("12kg", ".", "kg", 12.0), ("-5 %", ".", "%", -5.0), ("7", ".", "kg", 7.0)],
        *[("$1,200.50", ".", "$", 1200.5), ("1.200,50 €", ",", "€", 1200.5), ("EUR 3", ".", "EUR", 3.0)],
        *[("1,234,567", ".", "", 1234567.0), ("12'000", ",", "", 12000.0), ("12,5", ",", "", 12.5)],
        *[("3 m2", ".", "m2", 3.0), ("5 km/h", ",", "km/h", 5.0), ("1e3 m", ".", "m", 1000.0), (".5 g", ".", "g", 0.5)],
    ],
)
def test_amounts(cell, sign, unit, value):
    assert amount_of(cell, sign, unit) == value
    assert unit_of(cell) in ("", unit)


@pytest.mark.parametrize(
    "cell", ["B7", "0-9", "10+", "<5", "12 12", "kg", "+", "1,23.4", "7:30", "12.34.5", "9" * 400 + " kg"]
)
def test_what_is_no_amount(cell):
    assert amount_of(cell, ".", unit_of(cell) or "") is None


def test_another_unit_is_another_thing():
    assert amount_of("500 g", ".", "kg") is None
    assert amount_of("12,5", ".", "") is None


def test_truth_values():
    assert are_truths(["TRUE", "False"])
    assert are_truths(["ja", "nein", "Ja"])
    assert are_truths(["1.0", "0", "yes"])
    for cells in ([], ["yes"], ["yes", "1"], ["yes", "no", "maybe"], ["n", "f", "t"], ["m", "f"], ["1", "2"]):
        assert not are_truths(cells)
    assert [truth_of(cell) for cell in (" Y ", "f", "J", "2")] == ["true", "false", "true", None]


@given(st.integers(-(10**12), 10**12), st.sampled_from([".", ","]), st.sampled_from(["", "kg", "%", "µg/l"]))
def test_whole_numbers_with_groups_are_read_back(number, sign, unit):
    cell = f"{number:,}".replace(",", "," if sign == "." else ".")
    assert amount_of(f"{cell} {unit}".strip(), sign, unit) == number
