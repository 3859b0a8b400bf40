"""Raw items as files bring them: what an encoder reads, and what people look at."""

import codecs
import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np

from app.encoders import Raw
from app.encoders.guess import Guess
from app.services.budgets import Budgets
from app.services.imports.feature_files import check_text
from app.services.imports.zips import open_zip
from app.services.items import ris
from app.services.plain import check_plain
from app.services.problems import Invalid
from app.services.runtime.checks import Check, go_on

ImportFormat = Literal["zip", "npz", "jsonl", "csv", "svmlight", "ris"]
PORTION = 500  # items
GUESSED_FROM = 1000  # rows, or
GUESSED_BYTES = 2**20  # of a file: nobody can cancel a guess
MAX_NUMBERS = 100_000  # of a vector: vectors are dense
MAX_LABELS = 1000  # different ones: more are no classes
_SVMLIGHT = re.compile(rb"\s*[-+]?[\d.]\S*(\s+\d+:\S+)+\s*(#.*)?")


@dataclass(frozen=True)
class RawItem:
    """One item; `name` is the key that it gets."""

    name: str
    raw: Raw
    data: dict[str, Any] | None = None
    label: str | None = None
    numbered: bool = False  # whether the name is the number of a row


@dataclass(frozen=True)
class Broken:
    """What cannot be read, and why."""

    name: str
    reason: str


@dataclass(frozen=True)
class RawPortion:
    """Consecutive items of a file, and what was broken between them."""

    items: list[RawItem]
    broken: list[Broken]

    @property
    def count(self) -> int:
        """How many items were looked at, broken ones too."""
        return len(self.items) + len(self.broken)


class Source(Protocol):
    """A file of raw items that has been looked at once."""

    guess: Guess
    total: int  # items, broken ones too
    labels: list[str]  # classes that the file names

    def sample(self, most: int) -> list[Raw]:
        """At most so many items to fit an encoder on, spread over all."""

    def portions(self) -> Iterator[RawPortion]:
        """All items."""


def form_of(path: Path, budgets: Budgets | None = None, check: Check = go_on) -> ImportFormat:
    """What kind of file this is, by its content."""
    if zipfile.is_zipfile(path):
        with open_zip(path, budgets or Budgets(), check) as archive:
            names = archive.namelist()
        return "npz" if names and all(name.endswith(".npy") for name in names) else "zip"
    with path.open("rb") as file:
        first = b""
        while not first.strip() and (first := file.readline(2**20)):
            check()
    if first.removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"{"):
        return "jsonl"
    if ris.begins(first):
        return "ris"
    return "svmlight" if _SVMLIGHT.fullmatch(first) else "csv"


def size_of(raw: Raw) -> int:
    """How much memory a raw item takes, roughly; files take none.

    >>> size_of("text"), size_of({"a": "text"}), size_of(np.zeros(3))
    (4, 55, 24)
    """
    if isinstance(raw, np.ndarray):
        return int(raw.nbytes)
    if isinstance(raw, Mapping):
        return sum(len(name) + len(cell) + 50 for name, cell in raw.items())
    return len(raw) if isinstance(raw, str) else 0


def checked_item(item: RawItem) -> RawItem | Broken:
    """The item, unless a database could not keep it."""
    try:
        check_text(item.name, "the key")
        check_plain(item.data)
    except (ValueError, Invalid) as error:
        return Broken(item.name.replace("\0", "")[:200], str(error))
    return item


def split(found: list[RawItem | Broken]) -> RawPortion:
    """A portion with good and broken items apart."""
    return RawPortion([e for e in found if isinstance(e, RawItem)], [e for e in found if isinstance(e, Broken)])
