from collections import Counter
from datetime import datetime, timedelta

import numpy as np
import pytest

from app.encoders.learn_columns import kind_of, learn_columns


def learnt(name, cells):
    """Names of the columns with what is read from a cell, or why there is none."""
    found = learn_columns(name, cells, "quantiles", 100)
    return found if isinstance(found, str) else {column.name: column.reading for column in found}


@pytest.mark.parametrize(
    ("cells", "reading"),
    [
        (["1", "2.5", "", "1e3"], ("number",)),
        (["12 kg", "7.5 kg", "NA", "3"], ("amount", ".", "kg")),
        (["1,5", "2,25", "1.000,5"], ("amount", ",", "")),
        (["1,500", "2,250.5"], ("amount", ".", "")),
        (["1,500", "2,250"], ("amount", ".", "")),
        (["1/31/2024", "2/1/2024", "-"], ("days", "mdy")),
        (["31.1.2024", "1.2.2024"], ("days", "dmy")),
        (["7:30", "18:00"], ("hour", "dmy")),
        (["yes", "No", "?"], ("truth",)),
        (["0", "1", "0"], ("truth",)),
        (["1", "?", "1"], ("number",)),
        (["red", "blue", "7"], ("text",)),
        (["12 kg", "500 g", "3 lb"], ("text",)),
        (["A1", "A2", "B1"], ("text",)),
    ],
)
def test_how_a_column_is_read(cells, reading):
    assert learnt("c", cells) == {"c": reading}


def test_words_in_a_column_of_numbers_are_categories_beside_it_if_they_come_again():
    assert learnt("c", ["1", "2", "3", "low", "low", ""]) == {"c": ("number",), "c (words)": ("word", "number")}
    assert learnt("c", ["1", "2", "3", "low", ""]) == {"c": ("number",)}
    assert learnt("c", ["1", "2", "low", "high"]) == {"c": ("text",)}


def test_parts_of_the_calendar_that_come_round():
    def dates(hours):
        return [str(datetime(2024, 1, 1) + timedelta(hours=hours * i)) for i in range(40)]

    names = [set(learnt("d", dates(hours))) - {"d"} for hours in (0.5, 5, 24, 31, 24 * 7, 24 * 25)]
    assert names == [
        *(set(), {"d (hour)"}, {"d (weekday)"}, {"d (weekday)", "d (hour)"}),
        *(set(), {"d (weekday)", "d (month)"}),
    ]
    assert learnt("d", ["2024-01-01", ""]) == {"d": ("days", "dmy")}


@pytest.mark.parametrize(
    ("name", "cells", "why"),
    [
        ("c", ["x", "x"], "it never changes"),
        ("c", ["1", "1.0"], "it never changes"),
        ("c", ["", "?"], "it never changes"),
        ("c", [f"x{i}" for i in range(10)], "each row has another text"),
        *[
            (name, [str(i) for i in range(10)], "each row has another number")
            for name in ("id", "row_id", "PassengerId")
        ],
        *[(name, [str(i) for i in range(10)], "each row has another number") for name in ("Unnamed: 0", "", "Index")],
    ],
)
def test_what_says_nothing_is_left_out(name, cells, why):
    assert learnt(name, cells) == why


def test_what_looks_like_that_but_says_something_is_kept():
    for name in ("grid", "size", "paid"):
        assert learnt(name, [str(i) for i in range(10)]) == {name: ("number",)}
    assert learnt("shop id", ["1", "2", "3"] * 5) == {"shop id": ("number",)}
    assert learnt("c", ["x", "x", ""]) == {"c": ("text",)}


@pytest.mark.parametrize("largest", [1e300, 1.7e308])
def test_huge_numbers(largest):
    (column,) = learn_columns("c", [repr(float(largest * x)) for x in np.linspace(-1, 1, 50)], "quantiles", 100)
    for entries in (column.entries, column.standard_entries):
        found = entries([repr(largest), repr(-largest), "1"])
        assert np.isfinite(found.values).all()
        assert np.abs(found.values).max() <= 3.0


def test_the_kind_of_most_cells():
    kinds = [kind_of(cells) for cells in (["2024-01-01", "later", "2024-01-02"], ["7:30"], ["1", "a"], [""], ["€ 3"])]
    assert Counter(kinds) == Counter(dates=2, categories=2, numbers=1)
