from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.encoders.dates import days_of, hour_of, moment_of, month_of, order_of, weekday_of

SAME_DAY = [
    *("2024-03-05", "2024/3/5", "2024.03.05", "5.3.2024", "05.03.24", "5/3/2024", "05-03-2024"),
    *("5 Mar 2024", "5. März 2024", "05-Mar-2024", "5th March 2024", "March 5, 2024", "Mar 5 2024", "Tue, 5 Mar 2024"),
]
SAME_TIME = [
    *("2024-03-05 18:30", "2024-03-05T18:30:00", "2024-03-05T18:30:00.000Z", "2024-03-05T20:30+02:00"),
    *("5.3.2024, 18:30", "5/3/24 6:30 PM", "March 5, 2024 6:30 p.m.", "Tue, 05 Mar 2024 18:30:00 +0000"),
]


@pytest.mark.parametrize("cell", SAME_DAY)
def test_one_day_in_many_forms(cell):
    assert days_of(cell, "dmy") == (datetime(2024, 3, 5) - datetime(1970, 1, 1)).days
    assert (weekday_of(cell, "dmy"), month_of(cell, "dmy"), hour_of(cell, "dmy")) == ("Tuesday", "March", 0.0)


@pytest.mark.parametrize("cell", SAME_TIME)
def test_one_time_in_many_forms(cell):
    assert days_of(cell, "dmy") == datetime(2024, 3, 5, 18, 30, tzinfo=UTC).timestamp() / 86_400


def test_weekday_and_hour_are_those_of_where_it_was_written():
    cell = "2024-03-05T23:30-05:00"
    assert (weekday_of(cell, "dmy"), hour_of(cell, "dmy")) == ("Tuesday", 23.5)
    assert days_of(cell, "dmy") == days_of("2024-03-06 04:30", "dmy")


@pytest.mark.parametrize(
    "cell",
    [
        *("", "2024", "20240305", "1.2.3", "2024-02-30", "2024-13-01", "soon", "in 2024", "5 Foo 2024", "0000-01-01"),
        *(
            "2024-03-05 25:00",
            "192.168.1.10",
            "1/2-2024",
            "2024-03-05 18:30:61",
            "9" * 100,
            "2024-03-05T18:30+99:99:99",
        ),
    ],
)
def test_what_is_no_date(cell):
    assert moment_of(cell, "dmy") is None
    assert days_of(cell, "mdy") is None


def test_a_time_alone_has_an_hour():
    assert [hour_of(cell, "dmy") for cell in ("7:15", "07:15:30", "12:00 am", "12:00 pm", "24:00", "7:60")] == [
        *(7.25, 7.25 + 30 / 3600, 0.0, 12.0, None, None)
    ]
    assert weekday_of("7:15", "dmy") is None


def test_the_order_of_day_and_month_is_that_which_most_cells_have():
    assert order_of(["1/2/2024", "2/14/2024", "3/15/2024", "20/1/2024"]) == "mdy"
    assert order_of(["1.2.2024", "2.3.2024"]) == order_of([]) == "dmy"
    assert days_of("1/2/2024", "mdy") == days_of("2024-01-02", "mdy")


def test_two_digits_of_a_year_are_around_the_turn_of_the_century():
    assert [moment_of(f"1.1.{year}", "dmy")[0].year for year in ("00", "68", "69", "99")] == [2000, 2068, 1969, 1999]


@given(st.datetimes(datetime(1800, 1, 1), datetime(2200, 1, 1)), st.sampled_from(["dmy", "mdy"]))
def test_iso_forms_are_read_as_python_writes_them(moment, order):
    for cell in (moment.isoformat(), moment.isoformat(" ", "seconds"), f"{moment:%Y-%m-%d %H:%M:%S}"):
        assert moment_of(cell, order) == (moment.replace(microsecond=0), timedelta())


def test_zones_at_the_ends_of_the_calendar():
    assert days_of("9999-12-31T23:59:59-05:00", "dmy") > days_of("9999-12-31T23:59:59", "dmy")
    assert days_of("0001-01-01T00:00+05:00", "dmy") < days_of("0001-01-01", "dmy")


@given(st.text(alphabet="0123456789-/.: TZ+apmMarFeb,", max_size=30))
def test_any_cell_is_read_or_is_not(cell):
    moment = moment_of(cell, "dmy")
    assert (days_of(cell, "dmy") is None) == (weekday_of(cell, "dmy") is None) == (moment is None)
    hour = hour_of(cell, "dmy")
    assert hour is None or 0.0 <= hour < 24.0
