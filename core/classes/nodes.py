"""Classes by name: a list, or a tree of them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core._types import Indices
from core.classes.tree import ROOT, ClassTree

MAX_LEVELS = 16  # of a tree


def checked_name(name: Any) -> str:
    """The name of a class, or a ValueError."""
    if not (isinstance(name, str) and name and "\0" not in name):
        raise ValueError(f"a class name must be text without NUL; got {name!r}")
    return name


@dataclass(frozen=True)
class Nodes:
    """The names of a class tree: in the order they were given, and what some of them are a kind of.

    A name that others are a kind of is an inner node; the rest are the classes, which an item is one of. Numbers go
    through the classes first, then through the inner nodes.

    >>> nodes = Nodes(("bird", "robin", "oak", "tit"), {"robin": "bird", "tit": "bird"})
    >>> nodes.names, nodes.classes
    (('robin', 'oak', 'tit', 'bird'), ('robin', 'oak', 'tit'))
    """

    given: tuple[Any, ...] = ()  # text or numbers
    parents: Mapping[Any, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len(set(self.given)) < len(self.given):
            twice = next(name for place, name in enumerate(self.given) if name in self.given[:place])
            raise ValueError(f"class {twice!r} is named twice")
        known = set(self.given)
        for child, parent in self.parents.items():
            if child not in known or parent not in known:
                raise ValueError(f"there is no class {parent if child in known else child!r}, which the tree names")
            self._check_above(child)

    def _check_above(self, child: Any) -> None:
        path = [child]
        while (parent := self.parents.get(path[-1])) is not None:
            if parent in path:
                raise ValueError(f"class {parent!r} cannot be a kind of itself: a tree has no cycle")
            path.append(parent)
            if len(path) > MAX_LEVELS:
                raise ValueError(f"class {child!r} is too deep: a tree of classes may have {MAX_LEVELS} levels")

    @cached_property
    def names(self) -> tuple[Any, ...]:
        """By number: classes, then inner nodes; each in the order they were given."""
        inner = set(self.parents.values())
        return (*(n for n in self.given if n not in inner), *(n for n in self.given if n in inner))

    @cached_property
    def tree(self) -> ClassTree:
        """The same in numbers."""
        place = {name: number for number, name in enumerate(self.names)}
        above = [place[self.parents[name]] if name in self.parents else ROOT for name in self.names]
        return ClassTree(np.array(above, dtype=np.int64))

    @property
    def classes(self) -> tuple[Any, ...]:
        """The names that an item is one of."""
        return self.names[: self.tree.n_classes]

    def number(self, name: str) -> int:
        """Of a name, or a ValueError."""
        if name not in self.given:
            raise ValueError(f"there is no class {name!r}; there are {', '.join(map(repr, self.given))}")
        return self.names.index(name)

    def below(self, name: str) -> Indices:
        """The numbers of the classes that a name stands for: its own, or those under it in the tree.

        >>> Nodes(("bird", "robin", "oak"), {"robin": "bird"}).below("bird").tolist()
        [0]
        """
        return np.flatnonzero(self.tree.under(np.array([self.number(name)]))[0])

    def covers(self, name: str, numbers: Indices) -> NDArray[np.bool_]:
        """Whether each node number is that of the name, or of a node under it.

        >>> Nodes(("bird", "robin", "oak"), {"robin": "bird"}).covers("bird", np.array([0, 1, 2])).tolist()
        [True, False, True]
        """
        outside = self.tree.under(np.arange(len(self.tree))) & ~self.tree.under(np.array([self.number(name)]))
        return np.asarray(~outside.any(axis=1))[numbers]

    def numbers(self, names: Any) -> Indices:
        """Of many names that are all there.

        >>> Nodes(("a", "b")).numbers(["b", "a", "b"]).tolist()
        [1, 0, 1]
        """
        place = {name: number for number, name in enumerate(self.names)}
        different, inverse = np.unique(np.asarray(names), return_inverse=True)
        return np.array([place[name] for name in different.tolist()], dtype=np.int64)[inverse]

    def with_more(self, names: Sequence[str], parents: Mapping[str, str] | None = None) -> "Nodes":
        """More names, each a kind of its parent if it has one."""
        return Nodes((*self.given, *names), {**self.parents, **(parents or {})})

    def renamed(self, old: str, new: str) -> "Nodes":
        """The same tree, with another name."""
        self.number(old)

        def call(name: str) -> str:
            return new if name == old else name

        parents = {call(child): call(parent) for child, parent in self.parents.items()}
        return Nodes(tuple(map(call, self.given)), parents)

    def moved(self, name: str, parent: str | None) -> "Nodes":
        """With another parent for one name, or none."""
        self.number(name)
        parents = {child: above for child, above in self.parents.items() if child != name}
        return Nodes(self.given, parents if parent is None else {**parents, name: parent})

    def merged(self, name: str, into: str) -> "Nodes":
        """Without a name: what was a kind of it is a kind of the other.

        >>> Nodes(("bird", "fowl", "hen"), {"hen": "fowl"}).merged("fowl", "bird").parents
        {'hen': 'bird'}
        """
        for one in (name, into):
            self.number(one)
        if name == into:
            raise ValueError(f"class {name!r} cannot be merged into itself")
        node: Any = into
        while (node := self.parents.get(node)) is not None:
            if node == name:
                raise ValueError(f"class {name!r} cannot be merged into {into!r}, which is a kind of it")
        parents = {c: into if p == name else p for c, p in self.parents.items() if c != name}
        return Nodes(tuple(own for own in self.given if own != name), parents)

    def renumber(self, old: Iterable[str], merged: Mapping[str, str] | None = None) -> Indices:
        """The numbers that old names have here; merged ones those of what they have become."""
        place = {name: number for number, name in enumerate(self.names)}
        return np.array([place[(merged or {}).get(name, name)] for name in old], dtype=np.int64)
