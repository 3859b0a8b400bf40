"""How much an upload may hold: looked at while it is read, before memory is taken for it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, AnyStr

from app.services.problems import Invalid
from app.settings import ServiceSettings

PORTION_BYTES = 4 * 2**20  # of a file, from which on no more rows are read at once
Check = Callable[[], object]
"""Raises where the work is not wanted any more."""


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


class Lines(Iterator[AnyStr]):
    """Lines of an open file; one that is too long is refused before all of it is in memory.

    `check` is called for each. Rows of csv files may go over several lines: `begin_row` tells that one is over.
    """

    def __init__(self, file: IO[AnyStr], most: int, check: Check) -> None:
        self._file, self._most, self._check = file, most, check
        self.number = 0  # of the line that was read last
        self.size = 0  # of all lines so far
        self._row_began = 0

    def __next__(self) -> AnyStr:
        self._check()
        line = self._file.readline(self._row_began + self._most + 1 - self.size)
        if not line:
            raise StopIteration
        self.number += 1
        self.size += len(line)
        if self.size - self._row_began > self._most:
            raise Invalid(f"line {self.number} is longer than {self._most} characters (ASKNEXT_MAX_LINE)")
        return line

    def begin_row(self) -> None:
        """What follows is another row."""
        self._row_began = self.size
