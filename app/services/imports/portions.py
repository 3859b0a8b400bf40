"""Files in portions: lines of bounded length, and lists of things that are not too large together."""

import sys
from collections.abc import Iterable, Iterator
from typing import IO, AnyStr, TypeVar

from app.services.problems import Invalid
from app.services.runtime.checks import Check

PORTION_BYTES = 4 * 2**20  # of a file, from which on no more rows are read at once
SAMPLE_BYTES = 64 * 2**20  # of raw items that an encoder is fitted on
Thing = TypeVar("Thing")


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
