"""Training on rows that come in chunks and are never there together: sums over chunks, in level space."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from core._types import Indices, Table
from core.histograms import (
    CodedRows,
    Complement,
    Distinct,
    Histograms,
    LevelTable,
    blocks_of,
    code_rows,
    distinct_values,
    levels_of,
    merged,
    pairwise_reduced,
    raw_rows,
)
from core.kernels import IntersectionKernel
from core.labels import union_of_labels
from core.linalg import HistogramOperator, KernelError, kernel_error
from core.posterior import LevelSums, SummedRegression
from core.settings import Reader, Settings

Chunks = Callable[[], Iterable[tuple[Table, Any]]]
"""All chunks from the first to the last, each time it is called: rows and their labels."""


@dataclass(frozen=True, eq=False)
class FromChunks:
    """What chunks have taught."""

    reader: Reader
    model: SummedRegression
    classes: Any
    error: KernelError


@dataclass(frozen=True, eq=False)
class Survey:
    """What levels and classes are chosen by."""

    columns: Distinct
    classes: Any

    @classmethod
    def of(cls, reader: Reader, x: Table, y: Any) -> "Survey":
        """Of one chunk, which is checked here."""
        return cls(distinct_values(reader.coded(reader.check(x))), np.unique(y))

    def joined(self, other: "Survey") -> "Survey":
        """Of both."""
        return Survey(merged(self.columns, other.columns), union_of_labels(self.classes, other.classes))


def fit_chunks(settings: Settings, chunks: Chunks) -> FromChunks:
    """The level-space posterior of all chunks together, the same as that of one fit with the same levels.

    The chunks are gone through twice: to count values, of which levels are chosen, and to count pairs of levels. With
    complements a pass before finds the range of each column. One chunk is in memory at a time.

    >>> x, y = np.array([[0.2], [0.4], [0.9]]), np.array(["a", "a", "b"])
    >>> found = fit_chunks(Settings(), lambda: [(x[:2], y[:2]), (x[2:], y[2:])])
    >>> found.model.sums.sizes.tolist(), found.classes.tolist()
    ([2, 1], ['a', 'b'])
    """
    _check(settings)
    first = next(iter(chunks()), None)
    if first is None:
        raise ValueError("there must be at least one chunk of rows and labels")
    reader = settings.reader(first[0])
    if settings.complement:
        ranges = (Complement.of(reader.check(x)) for x, _ in chunks())
        reader = Reader(reader.histograms, pairwise_reduced(Complement.joined, ranges))
    found = pairwise_reduced(Survey.joined, (Survey.of(reader, x, y) for x, y in chunks()))
    columns, classes = found.columns, found.classes
    levels, quantised = levels_of(columns, settings.levels)
    sums = reduce(LevelSums.__add__, (_sums(levels, reader, x, classes.searchsorted(y), classes) for x, y in chunks()))
    kernel = settings.make_kernel(first[0], reader)
    assert isinstance(kernel, IntersectionKernel)
    empty = Histograms(levels, CodedRows.empty(levels.lineage), quantised)
    operator = HistogramOperator(empty, kernel)
    model = SummedRegression(operator, sums, noise=float(settings.noise))
    return FromChunks(reader, model, classes, kernel_error(reader.coded(first[0]), operator))


def _sums(levels: LevelTable, reader: Reader, x: Table, labels: Indices, classes: Any) -> LevelSums:
    """Of checked rows, coded in blocks."""
    parts = []
    for block in blocks_of(x):
        rows = code_rows(raw_rows(reader.coded(block)), levels)
        parts.append(LevelSums.of(levels, rows, labels[: len(rows)], len(classes)))
        labels = labels[len(rows) :]
    return reduce(LevelSums.__add__, parts)


def _check(settings: Settings) -> None:
    """Raise a ValueError for what sums over chunks cannot do."""
    expected = {"kernel": "hik", "likelihood": "gaussian", "balance": False, "tune": None}
    for name, value in expected.items():
        if getattr(settings, name) != value:
            raise ValueError(f"chunks need {name}={value!r}; got {getattr(settings, name)!r}")
    if settings.posterior not in ("auto", "levels"):
        raise ValueError(f'chunks need posterior="levels"; got {settings.posterior!r}')
