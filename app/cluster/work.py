"""What workers do: small functions of what they hold and what they receive."""

import pickle
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import numpy as np

from core import compile_all, share_cores
from core._types import Indices, Table
from core.classes.labels import checked_labels
from core.posterior import Part
from core.tables import as_table

T = TypeVar("T")

Source = tuple[Callable[[int, int], Table], Callable[[Table], Any]]
"""How a table is read, and what is made of a block of it."""


@cache
def _ready() -> None:
    """BLAS works as it does in the service, so that results are the same."""
    share_cores()


def dask_setup(_: Any) -> None:
    """Called by a worker that preloads this: kernels are compiled before anybody waits for them."""
    compile_all()


def received(data: bytes) -> Any:
    """What the service sent."""
    _ready()
    return pickle.loads(data)


def look_at_block(first: int, last: int, source: Source) -> Any:
    """Read a block of a table and look at it."""
    _ready()
    read, look = source
    return look(read(first, last))


def look_at_chunk(number: int, source: tuple[Callable[[int], tuple[Any, Any]], Callable[[Table, Any], Any]]) -> Any:
    """Read a chunk of rows and labels and look at it."""
    _ready()
    read, look = source
    rows, labels = read(number)
    x = as_table(rows)
    return look(x, checked_labels(labels, x.shape[0]))


def joined(a: T, b: T, join: Callable[[T, T], T]) -> T:
    """What is known of two neighbouring blocks, joined."""
    return join(a, b)


def first_part(first: int, last: int, source: Source) -> Part:
    """Read and code a block of a table, of which nothing is known yet."""
    return Part.begin(look_at_block(first, last, source))


def changed(part: Part, change: Callable[[Part], Part]) -> Part:
    """A part after a change."""
    _ready()
    return change(part)


def looked_at(first: int, part: Part, look: Callable[..., Any], along: tuple[Any, ...]) -> Any:
    """What is seen of a part; bits of its items come packed."""
    _ready()
    stretch = [np.unpackbits(entry, count=len(part)).astype(bool) for entry in along]
    return look(first, part, *stretch)


def taken(part: Part, places: Indices) -> Part:
    """The items of a part at these places."""
    return part.take(places)


def grown(part: Part, more: Part) -> Part:
    """A part with more items at its end; arrays of its own, whatever happens to the old one."""
    return part.between(0, len(part)).joined([more])
