import json
from datetime import date, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.encoders import archive, fit, restore
from app.encoders.columns import Category, Numbers
from app.encoders.table import TableEncoder, TableOptions
from core import GPHIKClassifier

ROWS = [
    {"id": f"row {i}", "age": str(age), "job": job, "town": "Jena"}
    for i, (age, job) in enumerate([(20, "cook"), (30, "nurse"), (40, "cook"), (50, ""), (60, "pilot")] * 3)
]


def test_numbers_are_complement_coded_and_categories_have_a_column_each():
    encoder = fit("table", ROWS, {"scale": "range", "standardised": False})
    assert encoder.names() == [
        *("age high", "age low", "age missing"),
        *("job = cook", "job = nurse", "job = pilot", "job other", "job missing"),
    ]
    rows = encoder.encode([{"age": "30", "job": "cook"}, {"age": "1e3", "job": "king"}, {"age": "?"}]).table.toarray()
    assert 2 * rows == pytest.approx(
        np.array([[0.25, 0.75, 0, 1, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0, 1, 0], [0, 0, 1, 0, 0, 0, 0, 1]])
    )
    assert [(channel.name, channel.columns) for channel in encoder.channels] == [("numbers", 3), ("categories", 5)]
    assert encoder.model() == {}


def test_columns_are_standardised_beside_that():
    encoder = fit("table", ROWS)
    assert encoder.names()[8:] == [
        *("age (standardised)", "age (missing)"),
        *(f"job {what} (standardised)" for what in ("= cook", "= nurse", "= pilot", "other", "missing")),
    ]
    cells = [{"age": "40", "job": "cook"}, {"age": "1e3", "job": "king"}, {"age": "?"}, {"age": "60", "job": "pilot"}]
    rows = encoder.encode(cells).table.toarray()[:, 8:]
    assert rows == pytest.approx(
        np.array(
            [
                [0, 0, 1, 0, 0, 0, 0],
                [3, 0, 0, 0, 0, 1, 0],
                [0, 1, 0, 0, 0, 0, 1],
                [np.sqrt(2), 0, 0, 0, 1, 0, 0],
            ]
        )
    )
    assert [(channel.name, channel.columns) for channel in encoder.channels][2:] == [("standardised", 7)]
    assert encoder.model()["kernel"] == [{"columns": [0, 8]}, {"kernel": "rbf", "columns": [8, 15]}]


@pytest.mark.parametrize("standardised", [False, True])
def test_an_encoder_from_before_columns_had_readings_gives_the_rows_it_gave(standardised):
    new = fit("table", ROWS, {"standardised": standardised})
    header, arrays = archive.unpack(new.state())
    del arrays["columns"]
    arrays["numbers"] = archive.texts_to_bytes([column.name for column in new.numbers])
    categories = json.dumps([[column.name, column.values] for column in new.categories])
    arrays["categories"] = np.frombuffer(categories.encode(), dtype=np.uint8)
    if not standardised:
        del header["options"]["standardised"]
        arrays = {name: array for name, array in arrays.items() if not name.startswith("standard")}
    again = restore(archive.pack(header, arrays))
    assert (again.encode(ROWS).table != new.encode(ROWS).table).nnz == 0
    assert again.model() == new.model()


def test_one_that_took_flags_for_numbers_and_dates_for_categories_still_does():
    cells = [{"flag": "1", "day": "2024-03-01"}, {"flag": "0", "day": "2024-03-02"}]
    old = TableEncoder(
        TableOptions(),
        (Numbers("flag", "flag", ("number",), np.array([0.0, 1.0]), np.array([0.25, 0.75])),),
        (Category("day", "day", ("text",), ("2024-03-01",)),),
    )
    again = restore(old.state())
    assert again.names() == old.names()
    assert 2 * again.encode(cells).table.toarray()[:, :6] == pytest.approx(
        np.array([[0.75, 0.25, 0, 1, 0, 0], [0.25, 0.75, 0, 0, 1, 0]])
    )


def test_dates_flags_units_and_missing_cells_of_one_table():
    rng = np.random.default_rng(0)
    days = rng.integers(0, 3 * 365, 400)
    rows = [
        {
            "id": str(i),
            "day": str(date(2021, 1, 1) + timedelta(days=int(day))),
            "member": str(rng.choice(["yes", "no", ""])),
            "weight": f"{rng.integers(1, 90)} kg",
        }
        for i, day in enumerate(days)
    ]
    encoder = fit("table", rows)
    assert encoder.describe()["read_as"] == {
        "day": "dates, weekdays, months",
        "weight": "numbers in kg",
        "member": "yes or no",
        "id": "left out: each row has another number",
    }
    table = encoder.encode(rows).table
    labels = np.array([date.fromisoformat(row["day"]).weekday() >= 5 for row in rows])
    model = GPHIKClassifier(tune="loo", **encoder.settings()).fit(table[:200], labels[:200])
    assert model.score(table[200:], labels[200:]) > 0.95
    labels = np.array([row["member"] == "" for row in rows])
    model = GPHIKClassifier(tune="loo", **encoder.settings()).fit(table[:100], labels[:100])
    assert model.score(table[100:], labels[100:]) > 0.98


def test_ids_and_what_never_changes_are_left_out():
    assert not any(name.startswith(("id", "town")) for name in fit("table", ROWS).names())
    assert not any(name.startswith("age") for name in fit("table", ROWS, {"leave_out": ["age"]}).names())


def test_quantiles_are_not_moved_by_an_outlier():
    rows = [{"x": str(x)} for x in [*range(100), 1_000_000]]
    low, high = (
        fit("table", rows, {"scale": scale}).encode([{"x": "50"}]).table[0, 0] for scale in ("range", "quantiles")
    )
    assert low < 0.001
    assert high == pytest.approx(0.5, abs=0.05)


def test_rare_values_share_a_column():
    rows = [{"c": value} for value in ["a"] * 5 + ["b"] * 4 + ["c", "d"]]
    assert fit("table", rows, {"categories": 2, "standardised": False}).names() == [
        "c = a",
        "c = b",
        "c other",
        "c missing",
    ]


CELL = st.one_of(st.text(max_size=3), st.floats().map(str), st.sampled_from(["", "?", "a", "b", "1", "-2.5"]))
TABLE = st.lists(st.dictionaries(st.sampled_from(["x", "y", "z"]), CELL), min_size=1, max_size=12)


@settings(max_examples=80, deadline=None)
@given(TABLE, TABLE, st.sampled_from(["quantiles", "range"]))
def test_every_row_sums_to_one_whatever_the_cells(pool, more, scale):
    try:
        encoder = fit("table", pool, {"scale": scale})
    except ValueError:
        return
    encoded = encoder.encode(pool + more)
    counted = encoded.table[:, : encoded.table.shape[1] - encoder.channels[-1].columns]
    assert np.asarray(counted.sum(axis=1)).ravel() == pytest.approx(np.ones(len(pool + more)))
    assert counted.data.min() > 0.0
    assert np.abs(encoded.table.data).max() <= 3.0
    assert encoded.table.shape[1] == len(encoder.names())
    again = restore(encoder.state())
    assert again.state() == encoder.state()
    assert (again.encode(pool + more).table != encoded.table).nnz == 0


def test_what_is_no_row_is_broken():
    steps = []
    encoded = fit("table", ROWS).encode([ROWS[0], "text", {}], steps.append)
    assert encoded.good == [0, 2]
    assert encoded.broken == {1: "expected the cells of a row by column, got str"}
    assert steps == [3]
    with pytest.raises(ValueError, match="none of the 1 columns has numbers or categories that differ"):
        fit("table", [{"a": "1"}, {"a": "1"}])


def test_an_interaction_of_columns_is_learnt():
    rng = np.random.default_rng(0)
    rows = [{"x": f"{x:.3f}", "y": f"{y:.3f}"} for x, y in rng.normal(size=(300, 2))]
    labels = np.array([float(row["x"]) * float(row["y"]) > 0 for row in rows])
    scores = []
    for options in ({}, {"standardised": False}):
        encoder = fit("table", rows, options)
        table = encoder.encode(rows).table
        model = GPHIKClassifier(tune="loo", **encoder.settings()).fit(table[:150], labels[:150])
        scores.append(model.score(table[150:], labels[150:]))
    assert scores[0] > 0.9
    assert scores[1] < 0.7


def test_a_rule_of_both_kinds_of_columns_is_learnt():
    rng = np.random.default_rng(0)
    rows = [{"age": str(rng.integers(20, 70)), "job": str(rng.choice(["cook", "nurse"]))} for _ in range(300)]
    labels = np.array([int(row["age"]) > 45 or row["job"] == "cook" for row in rows])
    encoder = fit("table", rows)
    table = encoder.encode(rows).table
    model = GPHIKClassifier(tune="loo", **encoder.settings()).fit(table[:150], labels[:150])
    assert model.score(table[150:], labels[150:]) > 0.9
