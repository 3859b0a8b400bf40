import numpy as np
import pytest

from app.encoders.columns import Category, Entries, Numbers


def dense(entries, rows, columns):
    table = np.zeros((rows, columns))
    table[entries.rows, entries.columns] = entries.values
    return table


def test_a_missing_number_is_a_fact_and_not_zero():
    column = Numbers("c", "c", ("number",), np.array([-1.0, 1.0]), np.array([0.0, 1.0]), 0.0, 0.5)
    cells = ["0", "", "-1", "n.d."]
    assert dense(column.entries(cells), 4, 3).tolist() == [[0.5, 0.5, 0], [0, 0, 1], [0, 1, 0], [0, 0, 1]]
    assert dense(column.standard_entries(cells), 4, 2).tolist() == [[0, 0], [0, 1], [-2, 0], [0, 1]]


@pytest.mark.parametrize(
    ("reading", "values", "cells", "places"),
    [
        (("text",), ("a", "b"), ["a", " b", "c", "?"], [0, 1, 2, 3]),
        (("truth",), ("false", "true"), ["Yes", "0", "perhaps", ""], [1, 0, 2, 3]),
        (("word", "number"), ("low",), ["low", "3", "high", "NA"], [0, 1, 1, 2]),
        (("weekday", "dmy"), ("Monday", "Friday"), ["2024-03-01", "4.3.2024", "2024-03-02", "-"], [1, 0, 2, 3]),
    ],
)
def test_a_category_has_one_column_for_each_value_one_for_others_and_one_for_missing_cells(
    reading, values, cells, places
):
    column = Category("c", "c", reading, values)
    for entries in (column.entries(cells), column.standard_entries(cells)):
        assert entries.rows.tolist() == [0, 1, 2, 3]
        assert entries.columns.tolist() == places
        assert entries.values.tolist() == [1.0] * 4
    assert len(column.names()) == len(column.standard_names()) == len(values) + 2


def test_zeros_are_not_kept_and_tables_stand_side_by_side():
    one = Entries.of((np.array([0, 1]), 0, np.array([0.0, 2.0])))
    both = Entries.side_by_side([one, one.over(4)], [3, 1])
    assert dense(both, 2, 4).tolist() == [[0, 0, 0, 0], [2, 0, 0, 0.5]]
