"""How much an upload may hold: looked at while it is read, before memory is taken for it."""

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import IO, AnyStr, TypeVar

from app.services.problems import Invalid
from app.settings import ServiceSettings

PORTION_BYTES = 4 * 2**20  # of a file, from which on no more rows are read at once
SAMPLE_BYTES = 64 * 2**20  # of raw items that an encoder is fitted on
Thing = TypeVar("Thing")
Check = Callable[[], object]
"""Raises where the work is not wanted any more."""


def go_on() -> None:
    """The check of work that nobody can cancel."""


@dataclass(frozen=True)
class Budgets:
    """What the settings of the service allow."""

    columns: int = ServiceSettings.model_fields["max_columns"].default
    items: int = ServiceSettings.model_fields["max_items"].default
    line: int = ServiceSettings.model_fields["max_line"].default
    entries: int = ServiceSettings.model_fields["max_entries"].default
    expanded: int = ServiceSettings.model_fields["max_expanded"].default
    ratio: int = ServiceSettings.model_fields["max_ratio"].default
    pixels: int = ServiceSettings.model_fields["max_pixels"].default

    @classmethod
    def of(cls, settings: ServiceSettings) -> "Budgets":
        """Those of a service."""
        return cls(
            settings.max_columns,
            settings.max_items,
            settings.max_line,
            settings.max_entries,
            settings.max_expanded,
            settings.max_ratio,
            settings.max_pixels,
        )

    def check_columns(self, columns: int) -> None:
        """Refuse more than there may be, however they were declared.

        >>> Budgets(columns=10).check_columns(11)
        Traceback (most recent call last):
        app.services.problems.Invalid: items may have 10 columns, not 11 (ASKNEXT_MAX_COLUMNS)
        """
        if columns > self.columns:
            raise Invalid(f"items may have {self.columns} columns, not {columns} (ASKNEXT_MAX_COLUMNS)")

    def check_items(self, items: int) -> None:
        """Refuse more items than a project may have."""
        if items > self.items:
            raise Invalid(f"a project may have {self.items} items, not {items} (ASKNEXT_MAX_ITEMS)")

    def check_expanded(self, expanded: int, packed: int) -> None:
        """Refuse a small file that expands to a lot; what was not compressed is never refused."""
        most = max(self.expanded, self.ratio * packed)
        if expanded > most:
            raise Invalid(
                f"a file of {packed} bytes may expand to {most}, not {expanded}; save it without compression "
                "(ASKNEXT_MAX_EXPANDED, ASKNEXT_MAX_RATIO)"
            )


class BoundedLines(Iterator[AnyStr]):
    """Lines of an open file; one that is too long is refused before all of it is in memory.

    `check` is called for each. Rows of csv files may go over several lines: `end_row` tells where.
    """

    def __init__(self, file: IO[AnyStr], most: int, check: Check) -> None:
        self._file: IO[AnyStr] = file
        self._most, self._check = most, check
        self.number = 0  # of the line that was read last
        self.size = 0  # of all lines so far
        self._row_begins = 0

    def __next__(self) -> AnyStr:
        self._check()
        line: AnyStr = self._file.readline(self._row_begins + self._most + 1 - self.size)
        if not line:
            raise StopIteration
        self.number += 1
        self.size += len(line)
        if self.size - self._row_begins > self._most:
            raise Invalid(f"line {self.number} is longer than {self._most} characters (ASKNEXT_MAX_LINE)")
        return line

    def end_row(self) -> None:
        """What follows is another row."""
        self._row_begins = self.size


def in_portions(
    things: Iterable[tuple[Thing, int]], most: int, most_bytes: int = PORTION_BYTES
) -> Iterator[list[Thing]]:
    """Lists of things that come with their sizes: so many at most, and no more once they are so large together.

    >>> list(in_portions([("a", 1), ("b", 9), ("c", 9), ("d", 1), ("e", 0)], 3, 10))
    [['a', 'b'], ['c', 'd'], ['e']]
    """
    portion, total = list[Thing](), 0
    for thing, size in things:
        portion.append(thing)
        total += size
        if len(portion) == most or total >= most_bytes:
            yield portion
            portion, total = [], 0
    if portion:
        yield portion


def within(things: Iterable[tuple[Thing, int]], most_bytes: int = SAMPLE_BYTES) -> list[Thing]:
    """The first of things that come with their sizes, as many as are not too large together, and at least one."""
    return next(in_portions(things, sys.maxsize, most_bytes), [])
