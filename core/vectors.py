"""Dense rows of a pool's items, of which every label reads all, and what is kept of their kernel."""

from collections.abc import Sequence
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core._jit import vectors as jit
from core._parallel import over_slices
from core._types import Floats

TOGETHER = 64  # columns in one array
BLOCK_ROWS = 1024  # converted to double precision at a time


class PoolVectors:
    """m x D numbers. Those that single precision holds exactly are stored so: the same numbers, read twice as fast.

    >>> rows = PoolVectors(np.array([[0.5, 1.0], [2.0, 0.25]]))
    >>> rows.numbers.dtype.name, rows.times(np.array([[1.0], [2.0]])).tolist(), rows[np.array([1])].tolist()
    ('float32', [[2.5], [2.5]], [[2.0, 0.25]])
    """

    def __init__(self, numbers: NDArray[Any], max_columns: int = 0) -> None:
        self.numbers = _narrowed(numbers)
        self.max_columns = max_columns  # of the kernel, to be kept
        self._columns: Columns | None = None

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, rows: Any) -> "PoolVectors | Floats":
        """A slice, for which nothing is kept unless it is all; or some rows as a plain array."""
        if not isinstance(rows, slice):
            return np.asarray(self.numbers[rows], dtype=np.float64)
        return self if rows.indices(len(self)) == (0, len(self), 1) else PoolVectors(self.numbers[rows])

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_columns": None}  # made anew where it arrives

    def concatenate(self, others: Sequence[Floats]) -> "PoolVectors":
        """These rows, then others, with the columns of all."""
        together = PoolVectors(np.concatenate([self.numbers, *map(_narrowed, others)]), self.max_columns)
        if self._columns is not None:
            together._columns = self._columns.of(together.numbers)
        return together

    def times(self, w: Floats) -> Floats:
        """Products with the columns of w (D x M), m x M."""
        numbers, m = self.numbers, len(self)
        if w.shape[1] != 1:
            starts = range(0, m, BLOCK_ROWS)
            blocks = [numbers[i : i + BLOCK_ROWS].astype(np.float64, copy=False) @ w for i in starts]
            return np.concatenate(blocks) if blocks else np.empty((0, w.shape[1]))
        column, out = np.ascontiguousarray(w[:, 0]), np.empty(m)
        over_slices(lambda lo, hi: jit.dot(numbers, column, out, lo, hi), m, numbers.size)
        return out[:, None]

    def bells(self, scales: Floats, x: Floats, v: Floats) -> Floats:
        """sum_j exp(-sum_d scales_d (p_d - x_jd)^2) v_j for each row p: m x M, with x n x D and v n x M."""
        if self._columns is None or not np.array_equal(self._columns.scales, scales):
            self._columns = Columns(self.numbers, scales, self.max_columns)
        return self._columns.times(x, v)


class Columns:
    """exp(-sum_d scales_d (p_d - x_d)^2) of the m rows p of a pool and rows x, at most `limit` of them kept.

    Any thread may ask.
    """

    def __init__(self, numbers: NDArray[Any], scales: Floats, limit: int) -> None:
        self._numbers = numbers
        self.scales = scales
        self._limit = limit
        self._place: dict[bytes, int] = {}  # of the column of a row
        self._kept: list[Floats] = []  # TOGETHER x m
        self._keeping = Lock()

    def of(self, numbers: NDArray[Any]) -> "Columns":
        """The same columns for these rows, of which those here are the first."""
        twin, new = Columns(numbers, self.scales, self._limit), numbers[len(self._numbers) :]
        places = dict(self._place)
        x = np.array([np.frombuffer(row) for row in places]).reshape(len(places), numbers.shape[1])
        for first, kept in zip(range(0, len(x), TOGETHER), self._kept, strict=False):
            more = _bells(new, x[first : first + TOGETHER], self.scales)
            twin._kept.append(np.concatenate([kept, more], axis=1))
        twin._place = places
        return twin

    def times(self, x: Floats, v: Floats) -> Floats:
        """The columns of the rows of x (n x D) times v (n x M), m x M."""
        keys = [row.tobytes() for row in np.ascontiguousarray(x)]
        self._keep(list(dict.fromkeys(key for key in keys if key not in self._place)))
        places = np.array([self._place.get(key, -1) for key in keys], dtype=np.int64)
        kept = list(self._kept)
        factors = np.zeros((len(kept) * TOGETHER, v.shape[1]))
        np.add.at(factors, places[places >= 0], v[places >= 0])
        sums = np.zeros((v.shape[1], len(self._numbers)))
        self._add(kept, factors, sums)
        without = np.flatnonzero(places < 0)
        for first in range(0, len(without), TOGETHER):
            some = without[first : first + TOGETHER]
            self._add([_bells(self._numbers, x[some], self.scales)], v[some], sums)
        return sums.T

    def _keep(self, keys: list[bytes]) -> None:
        """Columns of these rows, as far as there is room."""
        keys = keys[: max(self._limit - len(self._place), 0)]
        for first in range(0, len(keys), TOGETHER):
            some = keys[first : first + TOGETHER]
            columns = _bells(self._numbers, np.array([np.frombuffer(key) for key in some]), self.scales)
            with self._keeping:
                for key, column in zip(some, columns, strict=False):
                    self._put(key, column)

    def _put(self, key: bytes, column: Floats) -> None:
        """Behind what is there, which others may be reading."""
        place = len(self._place)
        if key in self._place or place >= self._limit:
            return
        if place % TOGETHER == 0:
            self._kept.append(np.zeros((TOGETHER, len(self._numbers))))
        self._kept[-1][place % TOGETHER] = column
        self._place[key] = place

    def _add(self, arrays: Sequence[Floats], factors: Floats, sums: Floats) -> None:
        """sums (M x m) += the columns of all arrays times their factors (columns x M)."""
        m = sums.shape[1]
        padded = np.zeros((len(sums), len(arrays), TOGETHER))
        padded.reshape(len(sums), -1)[:, : len(factors)] = factors.T
        pairs = [(array, np.ascontiguousarray(padded[:, i])) for i, array in enumerate(arrays) if padded[:, i].any()]

        def add(lo: int, hi: int) -> None:
            for array, own in pairs:
                jit.add_columns(array, own, sums, lo, hi)

        over_slices(add, m, float(len(pairs) * TOGETHER * m))


def _bells(numbers: NDArray[Any], x: Floats, scales: Floats) -> Floats:
    """The columns of up to TOGETHER rows x, the first of so many; the others are of no meaning."""
    out = np.zeros((TOGETHER, len(numbers)))
    x = np.ascontiguousarray(x, dtype=np.float64)
    over_slices(lambda lo, hi: jit.bells(numbers, x, scales, out, lo, hi), len(numbers), float(numbers.size * len(x)))
    return out


def _narrowed(numbers: NDArray[Any]) -> NDArray[Any]:
    """The same numbers in single precision if that holds them."""
    if numbers.dtype == np.float32:
        return np.ascontiguousarray(numbers)
    with np.errstate(over="ignore"):
        single = numbers.astype(np.float32, order="C")
    return single if np.array_equal(single, numbers) else np.ascontiguousarray(numbers)
