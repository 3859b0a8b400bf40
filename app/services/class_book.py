"""Class numbers and their names."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from core.nodes import Nodes


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
    parents: dict[int, int] = field(default_factory=dict)  # what some are a kind of

    @classmethod
    def of(cls, rows: Iterable[Any]) -> "ClassBook":
        """From rows of the table."""
        book = cls()
        for row in rows:
            if row.merged_into is None:
                book.add(row.number, row.name, row.parent)
            else:
                book.merged[row.number] = row.merged_into
        return book

    def add(self, number: int, name: str, parent: int | None = None) -> None:
        """A new class, or a new name and parent."""
        self.names[number] = name
        self.parents.pop(number, None)
        if parent is not None:
            self.parents[number] = parent

    def merge(self, number: int, into: int) -> None:
        """What was `number` is `into` from now on, and so are the parents of its kinds."""
        del self.names[number]
        self.merged[number] = into
        self.parents.pop(number, None)
        self.parents = {child: into if above == number else above for child, above in self.parents.items()}

    def covers(self, label: int, number: int) -> bool:
        """Whether a class is what a label says, or a kind of it.

        >>> ClassBook({0: "bird", 1: "robin"}, parents={1: 0}).covers(0, 1)
        True
        """
        label, node = self.resolve(label), self.resolve(number)
        while node != label and node in self.parents:
            node = self.parents[node]
        return node == label

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

    def nodes(self) -> Nodes:
        """The tree as the model has it."""
        parents = {self.names[child]: self.names[above] for child, above in self.parents.items()}
        return Nodes(tuple(self.active()), parents)

    def active(self) -> list[str]:
        """Names in the order of their numbers: the order that the model has them in."""
        return [self.names[number] for number in sorted(self.names)]
