"""Cells of tables: which are numbers, and which are missing."""

import math

MISSING = ("", "na", "n/a", "nan", "null", "none", "?", "-")


def is_missing(cell: str) -> bool:
    """Whether a cell is empty, or one of the words for that.

    >>> [is_missing(cell) for cell in (" ", "NaN", "0")]
    [True, True, False]
    """
    return cell.strip().lower() in MISSING


def number_of(cell: str) -> float | None:
    """The finite number in a cell, or None.

    >>> [number_of(cell) for cell in (" 1.5", "inf", "1_0", "one")]
    [1.5, None, None, None]
    """
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in cell else None


def is_number(cell: str) -> bool:
    """Whether a cell holds a finite number."""
    return number_of(cell) is not None
