"""Atomic changes of objects: a change is made completely or not at all.

A method changes a shallow copy (the draft), which then replaces the state of the object in one step. An exception or an
interrupt before that step leaves the object as it was, so that nothing has to be rolled back.
"""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T", bound=np.generic)


class Drafted:
    """Base class of objects whose changes are made to a draft first."""

    def draft(self) -> Self:
        """A shallow copy: changes of one do not affect the other.

        Buffers that grow at their end are shared, so only one of the two may append to them.
        """
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        return twin


def read_only(array: NDArray[T]) -> NDArray[T]:
    """A view of an array that cannot be written to."""
    view = array.view()
    view.flags.writeable = False
    return view


D = TypeVar("D", bound=Drafted)
P = ParamSpec("P")
R = TypeVar("R")


def all_or_nothing(change: Callable[Concatenate[D, P], R]) -> Callable[Concatenate[D, P], R]:
    """Decorator: the method changes a draft, whose state replaces that of the object when the method returns.

    >>> class Pair(Drafted):
    ...     first = second = 0
    ...
    ...     @all_or_nothing
    ...     def set(self, first, second):
    ...         self.first = first
    ...         self.second = int(second)
    >>> pair = Pair()
    >>> pair.set(1, "one")
    Traceback (most recent call last):
    ValueError: invalid literal for int() with base 10: 'one'
    >>> pair.first
    0
    """

    @wraps(change)
    def changed(self: D, /, *args: P.args, **kwargs: P.kwargs) -> R:
        draft = self.draft()
        result = change(draft, *args, **kwargs)
        answer: R = self if result is draft else result  # type: ignore[assignment]
        # The last step, after which nothing can fail; setattr has no answer of its own.
        return setattr(self, "__dict__", draft.__dict__) or answer  # type: ignore[func-returns-value]

    return changed
