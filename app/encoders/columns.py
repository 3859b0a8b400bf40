"""Columns of a table as they are coded: how their cells are read, and which columns of the encoded table they fill."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from app.encoders.dates import days_of, hour_of, month_of, weekday_of
from app.encoders.numbers import amount_of, is_missing, number_of, truth_of
from core._types import Floats, Indices

FAR = 3.0  # deviations from the mean, from which on a number is as good as any

Reading = tuple[str, ...]
"""What is read from a cell, and how: a name of `READERS` and what follows the cell in its arguments."""


def text_of(cell: str) -> str:
    """The cell as a category."""
    return cell.strip()


def word_of(cell: str, *number: str) -> str | None:
    """What is no number in a column of numbers, which are read like this.

    >>> word_of("not measured", "number"), word_of("12 kg", "amount", ".", "kg")
    ('not measured', None)
    """
    return None if READERS[number[0]](cell, *number[1:]) is not None else cell.strip()


READERS: Mapping[str, Callable[..., Any]] = {
    "number": number_of,
    "amount": amount_of,
    "days": days_of,
    "hour": hour_of,
    "text": text_of,
    "word": word_of,
    "truth": truth_of,
    "weekday": weekday_of,
    "month": month_of,
}


@dataclass(frozen=True)
class Entries:
    """Values of an encoded table that are not zero: their rows and columns."""

    rows: Indices
    columns: Indices
    values: Floats

    @classmethod
    def of(cls, *parts: tuple[Indices, Any, Any]) -> "Entries":
        """Of rows with their columns and values, or one column or value for all.

        >>> Entries.of((np.array([0, 2]), 1, 0.5), (np.array([1]), [3], [0.25])).columns.tolist()
        [1, 1, 3]
        """
        rows = np.concatenate([np.asarray(rows, dtype=np.int64) for rows, _, _ in parts])
        columns, values = (
            np.concatenate([np.broadcast_to(part[which], len(part[0])) for part in parts]) for which in (1, 2)
        )
        kept = values != 0.0
        return cls(rows[kept], columns[kept].astype(np.int64), values[kept].astype(np.float64))

    @classmethod
    def side_by_side(cls, parts: Sequence["Entries"], widths: Sequence[int]) -> "Entries":
        """Tables of these widths beside each other."""
        firsts = np.cumsum([0, *widths[:-1]])
        return cls(
            np.concatenate([part.rows for part in parts]),
            np.concatenate([part.columns + first for part, first in zip(parts, firsts, strict=True)]),
            np.concatenate([part.values for part in parts]),
        )

    def over(self, number: int) -> "Entries":
        """All values divided by this."""
        return Entries(self.rows, self.columns, self.values / number)


@dataclass(frozen=True, eq=False)
class Numbers:
    """Numbers: v and 1 - v, or a column of its own where there is none."""

    name: str
    source: str  # column of the table
    reading: Reading
    knots: Floats  # ascending values ...
    heights: Floats  # ... and what they become
    mean: float = 0.0
    deviation: float = 1.0

    def names(self) -> list[str]:
        """High, low, missing."""
        return [f"{self.name} high", f"{self.name} low", f"{self.name} missing"]

    def standard_names(self) -> list[str]:
        """The number, missing."""
        return [f"{self.name} (standardised)", f"{self.name} (missing)"]

    def entries(self, cells: Sequence[str]) -> Entries:
        """The values of a row sum to 1."""
        values, known, missing = self._read(cells)
        places = np.interp(values, self.knots, self.heights)
        return Entries.of((known, 0, places), (known, 1, 1.0 - places), (missing, 2, 1.0))

    def standard_entries(self, cells: Sequence[str]) -> Entries:
        """Deviations from the mean, at most three to either side; a missing number is in the middle, and says so."""
        values, known, missing = self._read(cells)
        with np.errstate(over="ignore"):
            far = np.clip((values - self.mean) / self.deviation, -FAR, FAR)
        return Entries.of((known, 0, far), (missing, 1, 1.0))

    def _read(self, cells: Sequence[str]) -> tuple[Floats, Indices, Indices]:
        """The numbers there are, the rows that have them, and the rows that have none."""
        values = numbers_in(cells, self.reading)
        there = ~np.isnan(values)
        return values[there], np.flatnonzero(there), np.flatnonzero(~there)


@dataclass(frozen=True, eq=False)
class Category:
    """Categories: one column each, one for all others, one for missing cells."""

    name: str
    source: str  # column of the table
    reading: Reading
    values: tuple[str, ...]

    def names(self) -> list[str]:
        """Each value, others, missing."""
        return [*(f"{self.name} = {value}" for value in self.values), f"{self.name} other", f"{self.name} missing"]

    def standard_names(self) -> list[str]:
        """The same columns as before."""
        return [f"{name} (standardised)" for name in self.names()]

    def entries(self, cells: Sequence[str]) -> Entries:
        """The one column that is 1."""
        read, other = reader(self.reading), len(self.values)
        columns = [other + 1 if is_missing(cell) else self._places.get(read(cell), other) for cell in cells]
        return Entries.of((np.arange(len(cells)), columns, 1.0))

    def standard_entries(self, cells: Sequence[str]) -> Entries:
        """The same: two categories are as far apart as two numbers are on average."""
        return self.entries(cells)

    @cached_property
    def _places(self) -> dict[str | None, int]:
        return {value: place for place, value in enumerate(self.values)}


Column = Numbers | Category
WORDS = {
    **{"number": "numbers", "amount": "numbers", "days": "dates", "hour": "hours", "weekday": "weekdays"},
    **{"month": "months", "truth": "yes or no", "word": "words", "text": "categories"},
}


def in_words(reading: Reading) -> str:
    """What people call it.

    >>> in_words(("amount", ".", "kg")), in_words(("text",))
    ('numbers in kg', 'categories')
    """
    unit = reading[2] if reading[0] == "amount" else ""
    return WORDS[reading[0]] + (f" in {unit}" if unit else "")


def reader(reading: Reading) -> Callable[[str], Any]:
    """What reads a cell."""
    name, *details = reading
    return (lambda cell: READERS[name](cell, *details)) if details else READERS[name]


def numbers_in(cells: Sequence[str], reading: Reading) -> Floats:
    """The numbers in these cells, not a number where there is none."""
    read = reader(reading)
    found = (read(cell) for cell in cells)
    return np.array([np.nan if number is None else number for number in found], dtype=np.float64)
