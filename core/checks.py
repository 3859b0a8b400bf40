"""Errors that say what was expected, what came, and where."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from core._types import Indices, Table


def check_finite(x: Table) -> None:
    """Raise a ValueError that names the first NaN or infinity.

    >>> check_finite(np.array([[0.0, np.nan]]))
    Traceback (most recent call last):
    ValueError: X contains NaN at row 0, column 1: every value must be a finite number
    """
    data = x.data if sp.issparse(x) else x
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(data.sum()):  # one pass without a copy; a sum may also overflow, so look again
            return
    bad = ~np.isfinite(data)
    if bad.any():
        row, column, value = _first(x, bad)
        kind = "NaN" if np.isnan(value) else "infinity"
        raise ValueError(f"X contains {kind} at row {row}, column {column}: every value must be a finite number")


def check_not_negative(x: Table) -> None:
    """Raise a ValueError that names the first negative value.

    >>> check_not_negative(np.array([[0.0], [-2.0]]))
    Traceback (most recent call last):
    ValueError: Negative values in data: X has -2 at row 1, column 0, but histogram kernels need values >= 0; use \
complement=True for features that are not histograms
    """
    data = x.data if sp.issparse(x) else x
    if data.size and data.min() < 0.0:
        row, column, value = _first(x, data < 0.0)
        raise ValueError(
            f"Negative values in data: X has {value:g} at row {row}, column {column}, but histogram kernels need "
            "values >= 0; use complement=True for features that are not histograms"
        )


def check_choice(name: str, value: Any, choices: tuple[Any, ...]) -> None:
    """Raise a ValueError that lists what is allowed."""
    if not any(value is choice or (isinstance(value, str) and value == choice) for choice in choices):
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}")


def check_number(name: str, value: Any, *, positive: bool) -> float:
    """A finite number above zero (or at least zero), or a ValueError."""
    number = float(value) if isinstance(value, int | float | np.number) and not isinstance(value, bool) else np.nan
    if not (np.isfinite(number) and (number > 0.0 or (number == 0.0 and not positive))):
        raise ValueError(f"{name} must be a finite number {'above' if positive else 'of at least'} 0; got {value!r}")
    return number


def check_whole(name: str, value: Any, *, least: int = 0) -> int:
    """A whole number that is not smaller, or a ValueError: neither True nor 1.0 is one.

    >>> check_whole("count", True)
    Traceback (most recent call last):
    ValueError: count must be a whole number of at least 0; got True
    """
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}; got {value!r}")
    return int(value)


def check_share(name: str, value: Any) -> float:
    """A number from 0 to 1, or a ValueError.

    >>> check_share("explore", float("nan"))
    Traceback (most recent call last):
    ValueError: explore must be a number from 0 to 1; got nan
    """
    number = float(value) if isinstance(value, int | float | np.number) and not isinstance(value, bool) else np.nan
    if not 0.0 <= number <= 1.0:
        raise ValueError(f"{name} must be a number from 0 to 1; got {value!r}")
    return number


def check_numbers(what: str, values: Any, n: int) -> Indices:
    """Numbers from 0 to n - 1, one or many and perhaps none, or a ValueError: floats and booleans are none."""
    numbers = np.asarray(values)
    integral = numbers.dtype.kind in "iu" or not numbers.size
    if not integral or (numbers.size and not 0 <= numbers.min() <= numbers.max() < n):
        raise ValueError(f"{what} must be whole numbers from 0 to {n - 1}; got {values!r}")
    return numbers.astype(np.int64, copy=False)


def _first(x: Table, bad: Any) -> tuple[int, int, float]:
    if sp.issparse(x):
        entry = int(np.argmax(bad))
        row = int(np.searchsorted(x.indptr, entry, side="right")) - 1
        return row, int(x.indices[entry]), float(x.data[entry])
    row, column = (int(i) for i in np.unravel_index(np.argmax(bad), x.shape))
    return row, column, float(x[row, column])
