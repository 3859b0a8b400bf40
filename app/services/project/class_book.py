"""Class numbers and their names."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from core.classes.nodes import Nodes


@dataclass(frozen=True)
class ClassBook:
    """Numbers are for ever; a merged one leads to another. A book is never changed: threads that read it see one state.

    >>> book = ClassBook({0: "cat", 1: "dog", 2: "puppy"}).with_merged(2, 1)
    >>> book.resolve(2), book.active()
    (1, ['cat', 'dog'])
    """

    names: Mapping[int, str] = field(default_factory=dict)
    merged: Mapping[int, int] = field(default_factory=dict)
    parents: Mapping[int, int] = field(default_factory=dict)  # what some are a kind of

    @classmethod
    def of(cls, rows: Iterable[Any]) -> "ClassBook":
        """The classes in rows of the table."""
        names: dict[int, str] = {}
        merged: dict[int, int] = {}
        parents: dict[int, int] = {}
        for row in rows:
            if row.merged_into is not None:
                merged[row.number] = row.merged_into
                continue
            names[row.number] = row.name
            if row.parent is not None:
                parents[row.number] = row.parent
        return cls(names, merged, parents)

    def with_class(self, number: int, name: str, parent: int | None = None) -> "ClassBook":
        """A new class, or a new name and parent."""
        parents = {child: above for child, above in self.parents.items() if child != number}
        if parent is not None:
            parents[number] = parent
        return ClassBook({**self.names, number: name}, self.merged, parents)

    def with_merged(self, number: int, into: int) -> "ClassBook":
        """What was `number` is `into` from now on, and so are the parents of its kinds."""
        names = {own: name for own, name in self.names.items() if own != number}
        kinds = {child: above for child, above in self.parents.items() if child != number}
        parents = {child: into if above == number else above for child, above in kinds.items()}
        return ClassBook(names, {**self.merged, number: into}, parents)

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
        """The number of a class by its name."""
        return next((number for number, own in self.names.items() if own == name), None)

    def numbers(self, name: str) -> list[int]:
        """The numbers of a class by its name, with those that were merged into it."""
        own = self.number(name)
        return [number for number in (*self.names, *self.merged) if self.resolve(number) == own]

    def nodes(self) -> Nodes:
        """The tree as the model has it."""
        parents = {self.names[child]: self.names[above] for child, above in self.parents.items()}
        return Nodes(tuple(self.active()), parents)

    def active(self) -> list[str]:
        """Names in the order of their numbers: the order that the model has them in."""
        return [self.names[number] for number in sorted(self.names)]
