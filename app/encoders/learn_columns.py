"""What a column of a table holds, by its cells: numbers, dates, truth values, categories, or nothing to learn from."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from app.encoders.columns import Category, Column, Numbers, Reading, numbers_in, reader
from app.encoders.dates import MONTHS, WEEKDAYS, order_of
from app.encoders.numbers import are_truths, is_missing, is_number, unit_of
from core._types import Floats

Scale = Literal["quantiles", "range"]
KNOTS = 65  # of the scale of a column of numbers
ID_ROWS = 10  # from so many rows on, a column that never repeats may hold ids
LOOKED_AT = 1000  # different cells that tell how a column is read
ROUNDS = 2  # times that a part of the calendar must come round to say more than the date
DAY, WEEK, YEAR = 1.0, 7.0, 365.25  # days
_DIGIT = re.compile(r"\d")
_ID = re.compile(r"(?i:(.*[\W_])?(id|uuid|guid|index|key))|.*[a-z]I[dD]|Unnamed: \d+|")  # as people and pandas name it


def learn_columns(source: str, cells: Sequence[str], scale: Scale, categories: int) -> list[Column] | str:
    """How a column of a table is coded, which may take several columns, or why it is left out.

    >>> [column.reading for column in learn_columns("size", ["12 kg", "8 kg", "unknown", "?"], "quantiles", 100)]
    [('amount', '.', 'kg')]
    """
    known = Counter(cell.strip() for cell in cells if not is_missing(cell))
    rows = known.total()
    if len(known) < 2 and (not known or rows == len(cells)):
        return "it never changes"
    if are_truths(known.keys()):
        return [Category(source, source, ("truth",), ("false", "true"))]
    reading = _reading_of_numbers(known)
    values, there = _numbers_of(known, reading)
    if 2 * len(values) > rows:
        words = Counter({cell: known[cell] for cell, is_read in zip(known, there, strict=True) if not is_read})
        why = _why_not(source, reading, values, len(cells))
        return why or _columns_of_numbers(source, reading, known, values, words, scale, categories)
    if len(known) == rows >= ID_ROWS:
        return "each row has another text"
    return [Category(source, source, ("text",), _frequent(known, categories))]


def kind_of(cells: Sequence[str]) -> str:
    """What most cells are: numbers, dates or categories.

    >>> kind_of(["3 kg", "?", "5 kg"]), kind_of(["1.2.2024"]), kind_of(["red", "blue"])
    ('numbers', 'dates', 'categories')
    """
    known = Counter(cell.strip() for cell in cells if not is_missing(cell))
    reading = _reading_of_numbers(known)
    if 2 * len(_numbers_of(known, reading)[0]) <= known.total():
        return "categories"
    return "dates" if reading[0] in ("days", "hour") else "numbers"


def _why_not(source: str, reading: Reading, values: Floats, n: int) -> str | None:
    """Why numbers of so many cells say nothing, if they do not."""
    if len(values) < n:
        return None
    if values.min() == values.max():
        return "it never changes"
    is_id = reading == ("number",) and _ID.fullmatch(source.strip()) is not None
    return "each row has another number" if is_id and len(np.unique(values)) == n >= ID_ROWS else None


def _columns_of_numbers(
    source: str,
    reading: Reading,
    known: Counter[str],
    values: Floats,
    words: Counter[str],
    scale: Scale,
    categories: int,
) -> list[Column]:
    """Numbers, the parts of the calendar that say more than a date, and words that come again."""
    columns: list[Column] = [_scaled(source, source, reading, values, scale)]
    if reading[0] == "days":
        columns += _parts_of_dates(source, reading[1], known, float(np.ptp(values)), scale)
    if max(words.values(), default=0) > 1:
        columns.append(Category(f"{source} (words)", source, ("word", *reading), _frequent(words, categories)))
    return columns


def _reading_of_numbers(known: Counter[str]) -> Reading:
    """What makes numbers of most cells."""
    cells = list(known)[:LOOKED_AT]
    with_digits = [cell for cell in cells if _DIGIT.search(cell)]
    if 2 * len(with_digits) < len(cells) or all(map(is_number, cells)):
        return ("number",)
    units = Counter(unit for cell in with_digits if (unit := unit_of(cell)))
    unit, order = next((unit for unit, _ in units.most_common(1)), ""), order_of(with_digits)
    readings: list[Reading] = [("number",), ("amount", ".", unit), ("amount", ",", unit)]
    readings += [("days", order), ("hour", order)]
    return max(readings, key=lambda reading: sum(known[c] for c in with_digits if reader(reading)(c) is not None))


def _numbers_of(known: Counter[str], reading: Reading) -> tuple[Floats, NDArray[np.bool_]]:
    """The numbers of all cells, as often as each is there, and which of the different cells have one."""
    numbers, counts = numbers_in(list(known), reading), np.array(list(known.values()), dtype=np.int64)
    there = ~np.isnan(numbers)
    return np.repeat(numbers[there], counts[there]), there


def _parts_of_dates(source: str, order: str, known: Counter[str], span: float, scale: Scale) -> list[Column]:
    """Weekday, month and hour of dates that span so many days, if these come round and are not always the same."""
    columns: list[Column] = []
    for part, days, names in (("weekday", WEEK, WEEKDAYS), ("month", YEAR, MONTHS)):
        read = reader((part, order))
        if span >= ROUNDS * days and len({read(cell) for cell in known} - {None}) > 1:
            columns.append(Category(f"{source} ({part})", source, (part, order), names))
    if span >= ROUNDS * DAY:
        hours, _ = _numbers_of(known, ("hour", order))
        if hours.min() < hours.max():
            columns.append(_scaled(f"{source} (hour)", source, ("hour", order), hours, scale))
    return columns


def _scaled(name: str, source: str, reading: Reading, values: Floats, scale: Scale) -> Numbers:
    if scale == "range":
        knots, heights = np.array([values.min(), values.max()]), np.array([0.0, 1.0])
    else:
        heights = np.linspace(0.0, 1.0, KNOTS)
        knots = np.quantile(values, heights, method="lower")
    # A value that several quantiles fall on has the middle of their heights.
    distinct, place = np.unique(knots, return_inverse=True)
    scaled = np.bincount(place, heights) / np.bincount(place)
    with np.errstate(over="ignore", invalid="ignore"):
        mean, deviation = float(values.mean()), float(values.std())
    if not (np.isfinite(mean) and np.isfinite(deviation) and deviation > 0.0):
        mean, deviation = 0.0, float(np.abs(values).max()) or 1.0
    return Numbers(name, source, reading, distinct, scaled, mean, deviation)


def _frequent(counts: Counter[str], most: int) -> tuple[str, ...]:
    """The values that get columns of their own, in their order."""
    return tuple(sorted(sorted(counts, key=lambda value: (-counts[value], value))[:most]))
