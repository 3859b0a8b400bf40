"""Training on rows that come in chunks and are never there together: sums over chunks, in level space."""

import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from core._types import Table
from core.classes.labels import union_of_labels
from core.factory import make_kernel, single_reader
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
from core.linalg import HistogramOperator, KernelError, kernel_error
from core.posterior import LevelSums, SummedRegression
from core.settings import Settings
from core.tables import Reader

T = TypeVar("T")

Chunks = Callable[[], Iterable[tuple[Table, Any]]]
"""All chunks from the first to the last, each time it is called: rows and their labels."""


@runtime_checkable
class SpreadChunks(Protocol):
    """Chunks that are looked at wherever they are, as on a cluster; functions are sent there."""

    def __iter__(self) -> Iterator[tuple[Table, Any]]:
        """All of them, here."""
        ...

    def reduced(self, look: Callable[[Table, Any], T], join: Callable[[T, T], T]) -> T:
        """What is seen of each chunk, joined as `pairwise_reduced` does."""
        ...

    def added(self, look: Callable[[Table, Any], T]) -> T:
        """The sum of what is seen, where its order does not matter."""
        ...


@dataclass(frozen=True)
class _Here:
    """One chunk is in memory at a time, and one sum."""

    chunks: Chunks

    def __iter__(self) -> Iterator[tuple[Table, Any]]:
        return iter(self.chunks())

    def reduced(self, look: Callable[[Table, Any], T], join: Callable[[T, T], T]) -> T:
        return pairwise_reduced(join, (look(x, y) for x, y in self))

    def added(self, look: Callable[[Table, Any], T]) -> T:
        return reduce(operator.add, (look(x, y) for x, y in self))


@dataclass(frozen=True, eq=False)
class FromChunks:
    """The model that was fitted to chunks, and what it reads rows with."""

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


@dataclass(frozen=True, eq=False)
class _RangeOf:
    """A look: the range of each column."""

    reader: Reader

    def __call__(self, x: Table, _: Any) -> Complement:
        return Complement.of(self.reader.check(x))


@dataclass(frozen=True, eq=False)
class _SumsOf:
    """A look: counts of level pairs, of checked rows that are coded in blocks."""

    levels: LevelTable
    reader: Reader
    classes: Any

    def __call__(self, x: Table, y: Any) -> LevelSums:
        labels, first, parts = self.classes.searchsorted(y), 0, []
        for block in blocks_of(x):
            rows = code_rows(raw_rows(self.reader.coded(block)), self.levels)
            parts.append(LevelSums.of(self.levels, rows, labels[first : first + len(rows)], len(self.classes)))
            first += len(rows)
        return reduce(operator.add, parts)


def fit_chunks(settings: Settings, chunks: Chunks | SpreadChunks) -> FromChunks:
    """The level-space posterior of all chunks together, the same as that of one fit with the same levels.

    The chunks are gone through twice: to count values, of which levels are chosen, and to count pairs of levels. With
    complements a pass before finds the range of each column. One chunk is in memory at a time, or one for each worker.

    >>> x, y = np.array([[0.2], [0.4], [0.9]]), np.array(["a", "a", "b"])
    >>> found = fit_chunks(Settings(), lambda: [(x[:2], y[:2]), (x[2:], y[2:])])
    >>> found.model.sums.sizes.tolist(), found.classes.tolist()
    ([2, 1], ['a', 'b'])
    """
    _check(settings)
    source: SpreadChunks = chunks if isinstance(chunks, SpreadChunks) else _Here(chunks)
    first = next(iter(source), None)
    if first is None:
        raise ValueError("there must be at least one chunk of rows and labels")
    reader = single_reader(settings, first[0])
    if settings.complement:
        reader = Reader(reader.histograms, source.reduced(_RangeOf(reader), Complement.joined))
    found = source.reduced(partial(Survey.of, reader), Survey.joined)
    rule = "few" if settings.levels == "auto" else settings.levels  # sums over chunks are in level space
    levels, quantised = levels_of(found.columns, rule)
    sums = source.added(_SumsOf(levels, reader, found.classes))
    kernel = make_kernel(settings, first[0], reader)
    assert isinstance(kernel, IntersectionKernel)
    empty = Histograms(levels, CodedRows.empty(levels.lineage), quantised)
    kernel_matrix = HistogramOperator(empty, kernel)
    model = SummedRegression(kernel_matrix, sums, noise=float(settings.noise))
    return FromChunks(reader, model, found.classes, kernel_error(reader.coded(first[0]), kernel_matrix))


def _check(settings: Settings) -> None:
    """Raise a ValueError for what sums over chunks cannot do."""
    expected = {"kernel": "hik", "likelihood": "gaussian", "balance": False, "class_weights": None, "tune": None}
    for name, value in expected.items():
        if getattr(settings, name) != value:
            raise ValueError(f"chunks need {name}={value!r}; got {getattr(settings, name)!r}")
    if settings.posterior not in ("auto", "levels"):
        raise ValueError(f'chunks need posterior="levels"; got {settings.posterior!r}')
