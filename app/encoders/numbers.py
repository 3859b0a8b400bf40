"""Cells of tables: which are missing, numbers, amounts with a unit, or truth values."""

import math
import re
from collections.abc import Collection

MISSING = ("", "na", "n/a", "nan", "null", "none", "?", "-")
TRUE = ("true", "t", "yes", "y", "ja", "j", "1", "1.0")
FALSE = ("false", "f", "no", "n", "nein", "0", "0.0")
MAX_CHARACTERS = 60  # of a cell that may be an amount
_AMOUNT = re.compile(
    r"(?P<before>[A-Z]{0,3}\s?[$€£¥]|EUR|USD|GBP|CHF)?\s?(?P<number>[+-]?[\d.,'\u2019\u00a0\u202f]*\d)"
    r"(?P<power>e[+-]?\d{1,3})?\s?(?P<after>(?:[^\W\d_]|[%‰°€$£¥])[^\s:;=]{0,9}(?:\s[^\W\d_][^\s:;=]{0,9})?)?",
    re.IGNORECASE,
)
_GROUPED = {
    ".": re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d{1,3}(?:['\u2019\u00a0\u202f]\d{3})+|\d*)(?:\.\d+)?"),
    ",": re.compile(r"[+-]?(?:\d{1,3}(?:\.\d{3})+|\d{1,3}(?:['\u2019\u00a0\u202f]\d{3})+|\d*)(?:,\d+)?"),
}
_GROUP_MARKS = {sign: re.compile(rf"[{other}'\u2019\u00a0\u202f]") for sign, other in ((".", ","), (",", "."))}


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


def amount_of(cell: str, sign: str, unit: str) -> float | None:
    """The number in a cell with this decimal sign, with this unit or none.

    >>> amount_of("1,200.5 kg", ".", "kg"), amount_of("1.200,5", ",", "kg"), amount_of("3 lb", ".", "kg")
    (1200.5, 1200.5, None)
    """
    found = _amount(cell)
    if found is None or not _GROUPED[sign].fullmatch(found["number"]) or _unit(found) not in ("", unit):
        return None
    digits = _GROUP_MARKS[sign].sub("", found["number"]).replace(",", ".")
    return number_of(digits + (found["power"] or ""))


def unit_of(cell: str) -> str | None:
    """The unit of an amount, which may be empty; None of what is no amount.

    >>> unit_of("12 kg"), unit_of("$3"), unit_of("7"), unit_of("B7")
    ('kg', '$', '', None)
    """
    found = _amount(cell)
    return None if found is None else _unit(found)


def truth_of(cell: str) -> str | None:
    """true or false, if a cell says either.

    >>> [truth_of(cell) for cell in ("Yes", "0", "perhaps")]
    ['true', 'false', None]
    """
    word = cell.strip().lower()
    return "true" if word in TRUE else "false" if word in FALSE else None


def are_truths(cells: Collection[str]) -> bool:
    """Whether these different cells are truth values of both kinds; single letters only as the two of one language.

    >>> are_truths(["Yes", "no"]), are_truths(["0", "1"]), are_truths(["y", "n", "f"]), are_truths(["1"])
    (True, True, False, False)
    """
    words = {cell.lower() for cell in cells}
    if not words <= {*TRUE, *FALSE}:
        return False
    letters = {word for word in words if len(word) == 1 and word.isalpha()}
    one_language = any(letters <= pair for pair in ({"t", "f"}, {"y", "n"}, {"j", "n"}))
    return one_language and not words.isdisjoint(TRUE) and not words.isdisjoint(FALSE)


def _amount(cell: str) -> re.Match[str] | None:
    return _AMOUNT.fullmatch(cell.strip()) if len(cell) <= MAX_CHARACTERS else None


def _unit(found: re.Match[str]) -> str:
    return ((found["before"] or "") + (found["after"] or "")).replace(" ", "")
