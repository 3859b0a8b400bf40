"""Indexing of rows, as arrays are indexed."""

from typing import Self

import numpy as np

from core._types import Indices


class IndexedRows:
    """n rows that answer to rows[first:last] and rows[indices], like an n x D array does.

    No abstract base class: those make isinstance a call of Python code, and it is asked at each label.
    """

    def __len__(self) -> int:
        raise NotImplementedError

    def take(self, rows: Indices) -> Self:
        """The rows with these indices, in this order."""
        raise NotImplementedError

    def between(self, first: int, last: int) -> Self:
        """The rows from `first` to before `last`; their entries are not copied."""
        raise NotImplementedError

    def __getitem__(self, index: slice | Indices) -> Self:
        if not isinstance(index, slice):
            return self.take(index)
        first, last, step = index.indices(len(self))
        return self.between(first, max(first, last)) if step == 1 else self.take(np.arange(first, last, step))
