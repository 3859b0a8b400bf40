"""Changes that are made whole or not at all.

A change is made to a twin, which then takes the place of the thing in one step. Whatever is raised before that step,
by the change or by an interrupt, has changed nothing, and nothing has to be taken back.
"""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T", bound=np.generic)


class Drafted:
    """What can be changed in a draft."""

    def draft(self) -> Self:
        """A twin that shares what never changes: what is done to it does not show here, and neither the other way.

        Buffers that grow at their end are shared, too, so that only one of both may grow.
        """
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        return twin


def read_only(array: NDArray[T]) -> NDArray[T]:
    """A view through which nobody can change what others have."""
    view = array.view()
    view.flags.writeable = False
    return view


D = TypeVar("D", bound=Drafted)
P = ParamSpec("P")
R = TypeVar("R")


def all_or_nothing(change: Callable[Concatenate[D, P], R]) -> Callable[Concatenate[D, P], R]:
    """A method that changes a draft, which takes the place of the object when all is done.

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
