"""Cells of tables that tell a date, a time, or both."""

import re
from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import lru_cache

MAX_CHARACTERS = 60  # of a cell that may be a date
PIVOT = 69  # of two digits of a year: 69 to 99 are 1969 to 1999
DAY_FIRST, MONTH_FIRST = "dmy", "mdy"
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_EPOCH = datetime(1970, 1, 1)
_BY_NAME = {name[:3].lower(): number for number, name in enumerate(MONTHS, 1)} | {
    **{"mär": 3, "mrz": 3, "mai": 5, "okt": 10, "dez": 12},
}
_TIME = (
    r"(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,]\d{1,9})?)?(?:\s?(?P<half>[ap])\.?m\.?)?"
    r"(?:\s?(?P<zone>z|utc|gmt|(?P<sign>[+-])(?P<zone_hours>\d\d):?(?P<zone_minutes>\d\d)))?"
)
_AFTER_DATE = rf"(?:(?:,?\s|t){_TIME})?"
_NAME = r"(?P<name>[^\W\d_]{3,9})\.?"
_YEAR_FIRST = r"(?P<year>\d{4})(?P<mark>[-/.])(?P<month>\d{1,2})(?:(?P=mark)(?P<day>\d{1,2}))?"
_YEAR_LAST = r"(?P<first>\d{1,2})(?P<mark>[-/.])(?P<second_place>\d{1,2})(?P=mark)(?P<year>\d{4}|\d\d)"
_NAMED_DAY_FIRST = rf"(?P<day>\d{{1,2}})(?:\.|st|nd|rd|th)?[\s-]{_NAME}[\s,-]{{1,2}}(?P<year>\d{{4}})"
_NAMED_MONTH_FIRST = rf"{_NAME}\s(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?\s(?P<year>\d{{4}})"
_WEEKDAY = r"(?:[^\W\d_]{2,10}\.?,?\s)?"
_FORMS = tuple(
    re.compile(_WEEKDAY + form + _AFTER_DATE, re.IGNORECASE)
    for form in (_YEAR_FIRST, _YEAR_LAST, _NAMED_DAY_FIRST, _NAMED_MONTH_FIRST)
)
_CLOCK = re.compile(_TIME, re.IGNORECASE)


def order_of(cells: Iterable[str]) -> str:
    """Whether days or months come first in dates like 1/2/2024: what more cells can be; else months before a slash.

    >>> order_of(["1/2/2024", "13/2/2024"]), order_of(["1/2/2024"]), order_of(["1.2.2024"])
    ('dmy', 'mdy', 'dmy')
    """
    cells = list(cells)
    days, months = (sum(moment_of(cell, order) is not None for cell in cells) for order in (DAY_FIRST, MONTH_FIRST))
    if days == months:
        return MONTH_FIRST if any("/" in cell for cell in cells) else DAY_FIRST
    return DAY_FIRST if days > months else MONTH_FIRST


@lru_cache(maxsize=4096)
def moment_of(cell: str, order: str) -> tuple[datetime, timedelta] | None:
    """When that is by the clock where it was written, and how far that clock is before that of Greenwich.

    >>> [moment_of(cell, "dmy")[0].isoformat() for cell in ("2024-03-01", "1.3.24 18:30", "March 1, 2024 6:30 pm")]
    ['2024-03-01T00:00:00', '2024-03-01T18:30:00', '2024-03-01T18:30:00']
    """
    cell = cell.strip()
    found = None
    if len(cell) <= MAX_CHARACTERS and cell[-1:].isalnum() | cell.endswith("."):
        found = next((match for form in _FORMS if (match := form.fullmatch(cell))), None)
    if found is None:
        return None
    parts = found.groupdict()
    year, month, day = int(parts["year"]), parts.get("month"), parts.get("day") or "1"
    if "name" in parts:
        month = _BY_NAME.get(parts["name"][:3].lower(), 0)
    elif "first" in parts:
        day, month = parts["first"], parts["second_place"]
        day, month = (day, month) if order == DAY_FIRST else (month, day)
    if len(parts["year"]) == 2:
        year += 1900 if year >= PIVOT else 2000
    try:
        return datetime(year, int(month or 0), int(day), *_clock(found)), _zone(found)
    except (ValueError, OverflowError):
        return None


def days_of(cell: str, order: str) -> float | None:
    """Days since 1970, in Greenwich.

    >>> days_of("1970-01-02T06:00+06:00", "dmy"), days_of("soon", "dmy")
    (1.0, None)
    """
    moment = moment_of(cell, order)
    return None if moment is None else (moment[0] - _EPOCH - moment[1]) / timedelta(days=1)


def hour_of(cell: str, order: str) -> float | None:
    """Hours since midnight, of a date with a time or of a time alone.

    >>> hour_of("2024-03-01 18:30", "dmy"), hour_of("18:30", "dmy")
    (18.5, 18.5)
    """
    moment = moment_of(cell, order)
    if moment is not None:
        time = moment[0].time()
        return time.hour + time.minute / 60 + time.second / 3600
    found = _CLOCK.fullmatch(cell.strip()) if len(cell) <= MAX_CHARACTERS else None
    if found is None:
        return None
    hour, minute, second = _clock(found)
    return hour + minute / 60 + second / 3600 if hour < 24 and minute < 60 and second < 60 else None


def weekday_of(cell: str, order: str) -> str | None:
    """The name of the day.

    >>> weekday_of("2024-03-01", "dmy")
    'Friday'
    """
    moment = moment_of(cell, order)
    return None if moment is None else WEEKDAYS[moment[0].weekday()]


def month_of(cell: str, order: str) -> str | None:
    """The name of the month.

    >>> month_of("2024-03-01", "dmy")
    'March'
    """
    moment = moment_of(cell, order)
    return None if moment is None else MONTHS[moment[0].month - 1]


def _clock(found: re.Match[str]) -> tuple[int, int, int]:
    """Hour, minute and second."""
    hour, minute, second = (int(found[name] or 0) for name in ("hour", "minute", "second"))
    if found["half"]:
        hour = hour % 12 + (12 if found["half"].lower() == "p" else 0)
    return hour, minute, second


def _zone(found: re.Match[str]) -> timedelta:
    if not found["sign"]:
        return timedelta()
    before = timedelta(hours=int(found["zone_hours"]), minutes=int(found["zone_minutes"]))
    return before if found["sign"] == "+" else -before
