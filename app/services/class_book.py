"""Class numbers and their names."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class ClassBook:
    """Numbers are for ever; a merged one leads to another.

    >>> book = ClassBook({0: "cat", 1: "dog", 2: "puppy"})
    >>> book.merge(2, 1)
    >>> book.resolve(2), book.active()
    (1, ['cat', 'dog'])
    """

    names: dict[int, str] = field(default_factory=dict)
    merged: dict[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: Iterable[Any]) -> "ClassBook":
        """From rows of the table."""
        book = cls()
        for row in rows:
            if row.merged_into is None:
                book.names[row.number] = row.name
            else:
                book.merged[row.number] = row.merged_into
        return book

    def add(self, number: int, name: str) -> None:
        """A new class, or a new name."""
        self.names[number] = name

    def merge(self, number: int, into: int) -> None:
        """What was `number` is `into` from now on."""
        del self.names[number]
        self.merged[number] = into

    def resolve(self, number: int) -> int:
        """The number that this one has become."""
        while number in self.merged:
            number = self.merged[number]
        return number

    def name(self, number: int) -> str:
        """What this number is called now."""
        return self.names[self.resolve(number)]

    def number(self, name: str) -> int | None:
        """Of a class by its name."""
        return next((number for number, own in self.names.items() if own == name), None)

    def numbers(self, name: str) -> list[int]:
        """Of a class by its name, and of those that were merged into it."""
        own = self.number(name)
        return [number for number in (*self.names, *self.merged) if self.resolve(number) == own]

    def active(self) -> list[str]:
        """Names in the order of their numbers: the order that the model has them in."""
        return [self.names[number] for number in sorted(self.names)]
