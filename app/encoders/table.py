"""Rows of a table: numbers complement-coded and standardised, categories one column each."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from pydantic import Field

from app.encoders import archive
from app.encoders.contract import Arrays, Channel, Encoded, Encoder, Options, Raw, Step, silent
from app.encoders.numbers import is_missing, is_number, number_of
from core._types import Floats

KNOTS = 65  # of the scale of a column of numbers
ID_ROWS = 10  # from so many rows on, a column of texts that never repeat holds ids
PORTION = 1000
FAR = 3.0  # deviations from the mean, from which on a number is as good as any


class TableOptions(Options):
    """How cells become numbers from 0 to 1."""

    scale: Literal["quantiles", "range"] = Field(
        "quantiles", description="the place of a number among those of the pool, or between its least and largest"
    )
    categories: Annotated[int, Field(ge=1, le=100_000)] = Field(
        100, description="columns of a category at most; rarer values share one"
    )
    leave_out: tuple[str, ...] = Field((), description="columns that are not encoded")
    standardised: bool = Field(
        True,
        description="also numbers less their mean, over their deviation, for a kernel that sees interactions",
    )


@dataclass(frozen=True, eq=False)
class Numbers:
    """A column of numbers: v and 1 - v, or a column of its own where the cell is missing."""

    name: str
    knots: Floats  # ascending values ...
    heights: Floats  # ... and what they become
    mean: float = 0.0
    deviation: float = 1.0

    def standard_names(self) -> list[str]:
        """The number, missing."""
        return [f"{self.name} (standardised)", f"{self.name} (missing)"]

    def standard_entries(self, cell: str) -> list[tuple[int, float]]:
        """Deviations from the mean, at most three to either side; a missing number is in the middle, and says so."""
        value = number_of(cell)
        if value is None:
            return [(1, 1.0)]
        return [(0, float(np.clip((value - self.mean) / self.deviation, -FAR, FAR)))]

    def names(self) -> list[str]:
        """High, low, missing."""
        return [f"{self.name} high", f"{self.name} low", f"{self.name} missing"]

    def entries(self, cell: str) -> list[tuple[int, float]]:
        """Column and value of what is not zero; the values sum to 1."""
        value = number_of(cell)
        if value is None:
            return [(2, 1.0)]
        v = float(np.interp(value, self.knots, self.heights))
        return [(0, v), (1, 1.0 - v)]


@dataclass(frozen=True, eq=False)
class Category:
    """A column of categories: one column each, one for all others, one for missing cells."""

    name: str
    values: tuple[str, ...]

    def standard_names(self) -> list[str]:
        """The same columns as before."""
        return [f"{name} (standardised)" for name in self.names()]

    def standard_entries(self, cell: str) -> list[tuple[int, float]]:
        """The one column that is 1: two categories are as far apart as two numbers are on average."""
        return self.entries(cell)

    def names(self) -> list[str]:
        """Each value, others, missing."""
        return [*(f"{self.name} = {value}" for value in self.values), f"{self.name} other", f"{self.name} missing"]

    def entries(self, cell: str) -> list[tuple[int, float]]:
        """The one column that is 1."""
        if is_missing(cell):
            return [(len(self.values) + 1, 1.0)]
        return [(self._places.get(cell.strip(), len(self.values)), 1.0)]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {value: place for place, value in enumerate(self.values)}


@dataclass(frozen=True, eq=False)
class TableEncoder(Encoder):
    """Each column of the table gives the same mass to every row, and a row sums to 1.

    So the intersection of two rows is the mean over the columns of 1 - |v - v'| and of "the same category". It adds up
    over columns; an RBF kernel of standardised columns beside it sees their interactions.
    """

    options: TableOptions
    numbers: tuple[Numbers, ...]
    categories: tuple[Category, ...]

    kind: ClassVar = "table"
    options_type: ClassVar = TableOptions

    @classmethod
    def fit(cls, raws: Sequence[Raw], options: TableOptions, seed: int, on_step: Step) -> Self:  # noqa: ARG003
        """Look at all cells of each column; columns of ids and columns that never change say nothing."""
        rows = [raw for raw in raws if isinstance(raw, Mapping)]
        left_out = set(options.leave_out)
        names = dict.fromkeys(name for row in rows for name in row if name not in left_out)
        columns = [_learn(name, [row.get(name, "") for row in rows], options) for name in names]
        on_step(len(raws))
        numbers = tuple(column for column in columns if isinstance(column, Numbers))
        categories = tuple(column for column in columns if isinstance(column, Category))
        if not numbers and not categories:
            raise ValueError(f"none of the {len(names)} columns has numbers or categories that differ between rows")
        return cls(options, numbers, categories)

    @classmethod
    def of_arrays(cls, options: TableOptions, arrays: Arrays) -> Self:
        """The columns in their order."""
        names = archive.texts_of_bytes(arrays["numbers"])
        scales = [
            (arrays[f"knots{place}"], arrays[f"heights{place}"], *arrays.get(f"standard{place}", (0.0, 1.0)))
            for place in range(len(names))
        ]
        categories = json.loads(arrays["categories"].tobytes())
        return cls(
            options,
            tuple(Numbers(name, k, h, float(m), float(d)) for name, (k, h, m, d) in zip(names, scales, strict=True)),
            tuple(Category(name, tuple(values)) for name, values in categories),
        )

    @property
    def channels(self) -> tuple[Channel, ...]:
        """Numbers, then categories."""
        parts = (("numbers", self.numbers), ("categories", self.categories))
        found = [Channel(name, sum(len(c.names()) for c in columns)) for name, columns in parts if columns]
        if self.options.standardised:
            found.append(Channel("standardised", sum(len(c.standard_names()) for c in self._columns())))
        return tuple(found)

    @classmethod
    def old_options(cls, options: dict[str, Any]) -> dict[str, Any]:
        """Options of an encoder that was stored before there were standardised columns."""
        return {"standardised": False} | options

    @property
    def reads_columns(self) -> bool:
        """Always."""
        return True

    def model(self) -> dict[str, Any]:
        """The sum of what columns say one by one and of what they say together."""
        if not self.options.standardised:
            return {}
        last = self.channels[-1].columns
        first = sum(channel.columns for channel in self.channels) - last
        return {"kernel": [{"columns": [0, first]}, {"kernel": "rbf", "columns": [first, first + last]}]}

    def encode(self, raws: Sequence[Raw], on_step: Step = silent) -> Encoded:
        """A sparse row for each row of the table; cells that are not there are missing."""
        broken = {
            place: f"expected the cells of a row by column, got {type(raw).__name__}"
            for place, raw in enumerate(raws)
            if not isinstance(raw, Mapping)
        }
        good = [place for place in range(len(raws)) if place not in broken]
        columns = self._columns()
        widths = [len(column.names()) for column in columns]
        if self.options.standardised:
            widths += [len(column.standard_names()) for column in columns]
        firsts = np.cumsum([0, *widths[:-1]])
        starts = [0]
        indices: list[int] = []
        values: list[float] = []
        for done, place in enumerate(good, 1):
            row: Any = raws[place]
            for column, first in zip(columns, firsts[: len(columns)], strict=True):
                for at, value in column.entries(row.get(column.name, "")):
                    if value > 0.0:
                        indices.append(first + at)
                        values.append(value / len(columns))
            for column, first in zip(columns, firsts[len(columns) :], strict=False):
                for at, value in column.standard_entries(row.get(column.name, "")):
                    if value:
                        indices.append(first + at)
                        values.append(value)
            starts.append(len(indices))
            if done % PORTION == 0 or done == len(good):
                on_step(place + 1)
        shape = (len(good), sum(widths))
        return Encoded(sp.csr_matrix((np.array(values), indices, starts), shape=shape), good, broken)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Names, scales and values."""
        arrays: dict[str, NDArray[Any]] = {"numbers": archive.texts_to_bytes([column.name for column in self.numbers])}
        for place, column in enumerate(self.numbers):
            arrays |= {f"knots{place}": column.knots, f"heights{place}": column.heights}
            arrays[f"standard{place}"] = np.array([column.mean, column.deviation])
        categories = json.dumps([[column.name, column.values] for column in self.categories])
        return {**arrays, "categories": np.frombuffer(categories.encode(), dtype=np.uint8)}

    def names(self) -> list[str]:
        """Column and value."""
        names = [name for column in self._columns() for name in column.names()]
        if self.options.standardised:
            names += [name for column in self._columns() for name in column.standard_names()]
        return names

    def _columns(self) -> list[Numbers | Category]:
        return [*self.numbers, *self.categories]


def _learn(name: str, cells: Sequence[str], options: TableOptions) -> Numbers | Category | None:
    """The column as it will be coded, or nothing."""
    known = [cell.strip() for cell in cells if not is_missing(cell)]
    distinct = Counter(known)
    if len(distinct) < 2 and (not known or len(known) == len(cells)):
        return None
    if all(map(is_number, known)):
        return _numbers(name, np.array(known, dtype=np.float64), options)
    if len(distinct) == len(known) >= ID_ROWS:
        return None
    frequent = sorted(distinct, key=lambda value: (-distinct[value], value))[: options.categories]
    return Category(name, tuple(sorted(frequent)))


def _numbers(name: str, values: Floats, options: TableOptions) -> Numbers:
    if options.scale == "range":
        knots, heights = np.array([values.min(), values.max()]), np.array([0.0, 1.0])
    else:
        heights = np.linspace(0.0, 1.0, KNOTS)
        knots = np.quantile(values, heights, method="lower")
    # A value that several quantiles fall on has the middle of their heights.
    distinct, place = np.unique(knots, return_inverse=True)
    scaled = np.bincount(place, heights) / np.bincount(place)
    with np.errstate(over="ignore", invalid="ignore"):
        mean, deviation = float(values.mean()), float(values.std())
    if not (np.isfinite(mean) and np.isfinite(deviation) and deviation > 0.0):
        mean, deviation = 0.0, float(np.abs(values).max()) or 1.0
    return Numbers(name, distinct, scaled, mean, deviation)
