"""Rows of a table: numbers and dates complement-coded and standardised, categories one column each."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from pydantic import Field

from app.encoders import archive
from app.encoders.columns import Category, Column, Entries, Numbers, in_words
from app.encoders.contract import Arrays, Channel, Encoded, Encoder, Options, Raw, Step, silent
from app.encoders.learn_columns import Scale, learn_columns

PORTION = 1000
SHOWN = 50  # columns that a description tells about, at most


class TableOptions(Options):
    """How cells become numbers from 0 to 1."""

    scale: Scale = Field(
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
class TableEncoder(Encoder):
    """Each column of the table gives the same mass to every row, and a row sums to 1.

    So the intersection of two rows is the mean over the columns of 1 - |v - v'| and of "the same category". It adds up
    over columns; an RBF kernel of standardised columns beside it sees their interactions.
    """

    options: TableOptions
    numbers: tuple[Numbers, ...]
    categories: tuple[Category, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)  # columns that say nothing, and why

    kind: ClassVar = "table"
    options_type: ClassVar = TableOptions

    @classmethod
    def fit(cls, raws: Sequence[Raw], options: TableOptions, seed: int, on_step: Step) -> Self:  # noqa: ARG003
        """Look at all cells of each column; columns of ids and columns that never change say nothing."""
        rows = [raw for raw in raws if isinstance(raw, Mapping)]
        names = dict.fromkeys(name for row in rows for name in row if name not in options.leave_out)
        columns: list[Column] = []
        left_out = {}
        for name in names:
            found = learn_columns(name, [row.get(name, "") for row in rows], options.scale, options.categories)
            if isinstance(found, str):
                left_out[name] = found
            else:
                columns += found
        on_step(len(raws))
        if not columns:
            raise ValueError(f"none of the {len(names)} columns has numbers or categories that differ between rows")
        numbers = tuple(column for column in columns if isinstance(column, Numbers))
        return cls(options, numbers, tuple(column for column in columns if isinstance(column, Category)), left_out)

    @classmethod
    def of_arrays(cls, options: TableOptions, arrays: Arrays) -> Self:
        """The columns in their order; each was a column of the table, as it stood, before there was a reading."""
        if "columns" in arrays:
            stored = json.loads(arrays["columns"].tobytes())
        else:
            names = archive.texts_of_bytes(arrays["numbers"])
            categories = json.loads(arrays["categories"].tobytes())
            stored = {
                "numbers": [[name, name, ["number"]] for name in names],
                "categories": [[name, name, ["text"], values] for name, values in categories],
                "left_out": {},
            }
        numbers = []
        for place, (name, source, reading) in enumerate(stored["numbers"]):
            mean, deviation = arrays.get(f"standard{place}", (0.0, 1.0))
            scale = arrays[f"knots{place}"], arrays[f"heights{place}"], float(mean), float(deviation)
            numbers.append(Numbers(name, source, tuple(reading), *scale))
        categories = (Category(name, at, tuple(how), tuple(values)) for name, at, how, values in stored["categories"])
        return cls(options, tuple(numbers), tuple(categories), stored["left_out"])

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
        tables = [sp.csr_matrix((0, len(self.names())))]
        for first in range(0, len(good), PORTION):
            places = good[first : first + PORTION]
            rows: list[Any] = [raws[place] for place in places]
            tables.append(self._table(rows))
            on_step(places[-1] + 1)
        return Encoded(sp.vstack(tables, format="csr"), good, broken)

    def _table(self, rows: Sequence[Mapping[str, str]]) -> sp.csr_matrix:
        columns = self._columns()
        cells = {source: [row.get(source, "") for row in rows] for source in {column.source for column in columns}}
        parts = [column.entries(cells[column.source]).over(len(columns)) for column in columns]
        widths = [len(column.names()) for column in columns]
        if self.options.standardised:
            parts += [column.standard_entries(cells[column.source]) for column in columns]
            widths += [len(column.standard_names()) for column in columns]
        found = Entries.side_by_side(parts, widths)
        table = sp.csr_matrix((found.values, (found.rows, found.columns)), shape=(len(rows), sum(widths)))
        table.sort_indices()
        return table

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Columns and scales."""
        arrays: dict[str, NDArray[Any]] = {}
        for place, column in enumerate(self.numbers):
            arrays |= {f"knots{place}": column.knots, f"heights{place}": column.heights}
            arrays[f"standard{place}"] = np.array([column.mean, column.deviation])
        stored = {
            "numbers": [[column.name, column.source, column.reading] for column in self.numbers],
            "categories": [[c.name, c.source, c.reading, c.values] for c in self.categories],
            "left_out": dict(self.left_out),
        }
        return {**arrays, "columns": np.frombuffer(json.dumps(stored).encode(), dtype=np.uint8)}

    def names(self) -> list[str]:
        """Column and value."""
        names = [name for column in self._columns() for name in column.names()]
        if self.options.standardised:
            names += [name for column in self._columns() for name in column.standard_names()]
        return names

    def describe(self) -> dict[str, Any]:
        """The description, with how the first columns are read."""
        read: dict[str, list[str]] = {}
        for column in self._columns():
            read.setdefault(column.source, []).append(in_words(column.reading))
        told = {name: ", ".join(parts) for name, parts in read.items()}
        told |= {name: f"left out: {why}" for name, why in self.left_out.items()}
        return {**super().describe(), "read_as": dict(list(told.items())[:SHOWN])}

    def _columns(self) -> list[Column]:
        return [*self.numbers, *self.categories]
