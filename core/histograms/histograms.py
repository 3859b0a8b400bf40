"""Coded rows together with their level table: the training data of histogram kernels."""

from dataclasses import dataclass

import numpy as np

from core._types import Codes, Table
from core.histograms.chunked import blocks_of
from core.histograms.coded import Allocate, CodedRows, code_type
from core.histograms.level_table import LevelTable
from core.histograms.quantise import LevelRule, distinct_values, levels_of
from core.histograms.raw import RawRows, raw_rows


def code_rows(rows: RawRows, levels: LevelTable) -> CodedRows:
    """Each value as the id of its nearest level; values nearest to zero are dropped."""
    positions = levels.nearest(rows)
    ids: Codes = levels.order.astype(code_type(len(levels)))
    kept = positions >= 0
    if kept.all():
        return CodedRows.of(ids[positions], rows.starts, levels.lineage)
    starts = np.concatenate(([0], np.cumsum(kept)))[rows.starts]
    return CodedRows.of(ids[positions[kept]], starts, levels.lineage)


@dataclass(eq=False)
class Histograms:
    """Coded rows that grow and shrink, over a level table that only grows.

    >>> histograms = Histograms.of(np.array([[0.5, 0.0], [0.25, 0.25]]))
    >>> len(histograms.levels), histograms.rows.codes.tolist()  # 0.25, 0.5 | 0.25 | the constant 1
    (4, [1, 3, 0, 2, 3])
    """

    levels: LevelTable
    rows: CodedRows
    quantised: bool = False  # whether some stored value is not its level

    @classmethod
    def of(cls, x: Table, rule: LevelRule = None, allocate: Allocate = np.empty) -> "Histograms":
        """Choose levels from the rows of a valid table, and code them; reads the table twice, in blocks."""
        distinct = distinct_values(x)
        levels, quantised = levels_of(distinct, rule)
        nnz = sum(int(counts.sum()) for _, counts in distinct.values())
        room = CodedRows.with_room(x.shape[0], nnz, code_type(len(levels)), levels.lineage, allocate)
        histograms = cls(levels, room, quantised)
        for block in blocks_of(x):
            histograms.rows.append(code_rows(raw_rows(block), levels))
        return histograms

    @classmethod
    def without_rows(cls, x: Table, rule: LevelRule = None, _: Allocate = np.empty) -> "Histograms":
        """The levels of a table, for rows that are kept elsewhere."""
        levels, quantised = levels_of(distinct_values(x), rule)
        return cls(levels, CodedRows.empty(levels.lineage), quantised)

    def append(self, rows: RawRows) -> CodedRows:
        """Code and store rows, with new levels where there is room for them; returns the coded rows."""
        coded = self.learn_levels(rows)
        self.rows.append(coded)
        return coded

    def learn_levels(self, rows: RawRows) -> CodedRows:
        """Make the values of these rows levels where there is room, and code the rows; none of them is stored."""
        self.levels = self.levels.insert(*self.levels.new_values(rows))
        coded = code_rows(rows, self.levels)
        self.quantised = self.quantised or not np.array_equal(self.levels.values[coded.codes], rows.values)
        return coded
