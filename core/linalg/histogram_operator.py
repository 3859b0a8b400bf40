"""The histogram intersection kernel matrix: scatter, table, gather (core/DESIGN.md, section 2)."""

from copy import copy
from dataclasses import dataclass, replace
from typing import Protocol, Self

import numpy as np

from core._jit import coding, counting, products
from core._jit.coding import Levels
from core._parallel import over_balanced, over_slices
from core._types import Dims, Floats, Indices
from core.drafts import Drafted
from core.histograms import CodedRows, Histograms, LevelTable, code_rows
from core.kernels import IntersectionKernel
from core.linalg.features import LevelFeatures
from core.linalg.operator import COLUMNS, KernelExpansion, check_rows_finite
from core.linalg.products import gather, scatter
from core.rows import Rows, coded_rows, histogram_rows


class LevelValue(Protocol):
    """A monotone function u of values, in which look-up tables are linear."""

    def apply(self, values: Floats, dims: Dims) -> Floats:
        """u of values in these dimensions."""
        ...


@dataclass(frozen=True, eq=False)
class LookupTable:
    """A function that is linear in u between levels, one column per class: T[level id, column]."""

    levels: LevelTable
    kernel: LevelValue
    u: Floats  # S, by id
    table: Floats  # S x M

    def __call__(self, query: Rows, *, quantised: bool = False) -> Floats:
        rows = histogram_rows(query)
        if isinstance(rows, CodedRows):
            return gather(rows.codes, rows.starts, self.table)
        levels, table, starts = self.levels, self.table, rows.starts
        positions = levels.nearest(rows)
        out = np.empty((len(rows), table.shape[1]))
        work = rows.nnz * table.shape[1] / 4
        if quantised:
            over_slices(
                lambda lo, hi: products.gather_nearest(starts, positions, levels.order, table, out, lo, hi),
                len(rows),
                work,
            )
        else:
            u = self.kernel.apply(rows.values, rows.dims)
            located = products.Located(starts, rows.dims, rows.values, u, positions)
            known = Levels(levels.start, levels.order, levels.sorted_values, self.u[levels.order])
            over_slices(
                lambda lo, hi: products.interpolate(located, known, table, out, lo, hi),
                len(rows),
                work,
            )
        return out

    def for_items(self, by: Floats | None = None) -> "CodedTable":
        return CodedTable(self.table if by is None else np.ascontiguousarray(self.table @ by))


@dataclass(frozen=True, eq=False)
class CodedTable:
    """A look-up table for coded rows alone, which need nothing but its entries."""

    table: Floats  # S x M

    def __call__(self, query: Rows, *, quantised: bool = False) -> Floats:  # noqa: ARG002
        rows = coded_rows(query)
        return gather(rows.codes, rows.starts, self.table)

    def for_items(self, by: Floats | None = None) -> "CodedTable":
        return self if by is None else CodedTable(np.ascontiguousarray(self.table @ by))


class HistogramOperator(Drafted):
    """K of level-coded rows. Kernel parameters only touch the S level values `u`; rows are never read for them."""

    in_level_space = True  # K = Phi Phi^T, with the features of core/DESIGN.md, section 3

    def __init__(self, histograms: Histograms, kernel: IntersectionKernel) -> None:
        self.histograms = histograms
        self.kernel = kernel
        self.u = self._level_u()

    def __len__(self) -> int:
        return len(self.histograms.rows)

    @property
    def levels(self) -> LevelTable:
        return self.histograms.levels

    @property
    def rows(self) -> CodedRows:
        return self.histograms.rows

    @property
    def factors(self) -> Floats:
        """What multiplies kernel values of each training row, n."""
        return np.ones(len(self))

    @property
    def constant(self) -> float:
        """What is added to kernel values that are multiplied; else it is a level as others are."""
        return 0.0

    def factors_of(self, query: Rows) -> Floats:
        """What multiplies kernel values of each row of a query."""
        return np.ones(len(query))

    def product(self, v: Floats) -> Floats:
        return gather(self.rows.codes, self.rows.starts, self._table(v))

    def predictor(self, v: Floats) -> KernelExpansion:
        return self.lookup(self._table(v))

    def pull_back(self, e: Floats, f: Floats) -> Floats:
        features, levels = self.features(), self.levels
        # e^T K f is the sum over levels of their gap times what e and f have at or above it.
        by_u = features.by_u(np.einsum("sm,sm->s", features.sums(e), features.sums(f)))
        return self.kernel.pull_back(levels.values[levels.order], levels.dims[levels.order], by_u)

    def pull_back_matrix(self, gradient: Floats) -> Floats:
        features, levels = self.features(), self.levels
        rows = np.repeat(np.arange(len(self)), np.diff(features.starts))
        heads = np.searchsorted(np.sort(features.codes), np.arange(features.size + 1))
        by_code = rows[np.argsort(features.codes, kind="stable")]
        by_gap = np.zeros(features.size)
        matrix = np.asfortranarray(gradient)
        held = np.diff(heads[features.start]).astype(np.float64)
        over_balanced(
            lambda lo, hi: counting.level_quadratics(heads, by_code, features.start, matrix, by_gap, lo, hi), held**2
        )
        by_u = features.by_u(by_gap)
        return self.kernel.pull_back(levels.values[levels.order], levels.dims[levels.order], by_u)

    def difference(self, query: Rows, beta: Floats) -> KernelExpansion:
        return self.lookup(self.profile(query) - self._table(beta))

    def lookup(self, table: Floats) -> LookupTable:
        """The function with these values at the levels."""
        return LookupTable(self.levels, self.kernel, self.u, table)

    def only(self, rows: Indices) -> Self:
        return type(self)(Histograms(self.levels, self.rows.take(rows)), self.kernel)

    def training_rows(self, rows: Indices) -> CodedRows:
        every = len(rows) == len(self) and np.array_equal(rows, np.arange(len(self)))
        return copy(self.rows) if every else self.rows.take(rows)

    def cross(self, query: Rows, first: int = 0) -> Floats:
        codes, starts, width = self.rows.codes, self.rows.starts[first:], len(query)
        if width <= COLUMNS:
            return gather(codes, starts, self.profile(query))
        n = len(starts) - 1
        out = np.empty((n, width), order="F")
        entries, levels = self._entries(query), self._sorted_levels()

        def fill(lo: int, hi: int) -> None:
            profile, tile = np.empty((len(self.levels), COLUMNS)), np.empty((n, COLUMNS))
            for left in range(lo * COLUMNS, min(width, hi * COLUMNS), COLUMNS):
                right = min(width, left + COLUMNS)
                profile.fill(0.0)
                coding.profile(*entries, levels, profile, left, right)
                products.gather(codes, starts, profile, tile, 0, n)
                out[:, left:right] = tile[:, : right - left]

        over_slices(fill, -(-width // COLUMNS), len(codes) * width / 4)
        return out

    def level_cross(self) -> Floats:
        """K(X, x) for rows x that hold one level alone, in sorted order; n x S, column-major.

        K(X, x) of any coded row x is the sum of its codes' columns.
        """
        return self._profile(self.rows, self._sorted_levels()._replace(order=np.arange(len(self.levels)))).T

    def diagonal(self, query: Rows) -> Floats:
        rows = histogram_rows(query)
        if isinstance(rows, CodedRows):
            return gather(rows.codes, rows.starts, self.u[:, None])[:, 0]
        # Every raw row has the constant dimension, so no row is empty.
        return np.add.reduceat(self.kernel.apply(rows.values, rows.dims), rows.starts[:-1])

    def profile(self, query: Rows) -> Floats:
        """min(u of the row, u of the level) for each level and row of the query, S x rows."""
        return self._profile(query, self._sorted_levels())

    def check(self, query: Rows) -> None:
        with np.errstate(over="ignore"):
            check_rows_finite(self.diagonal(query))

    def draft(self) -> Self:
        twin = super().draft()
        twin.histograms = replace(self.histograms, rows=copy(self.rows))  # shares arrays that changes leave alone
        return twin

    def append(self, query: Rows) -> None:
        """Store raw rows (their unseen values may become levels) or rows coded before."""
        self.rows.append(self.learn_levels(query))

    def encode(self, query: Rows) -> CodedRows:
        rows = histogram_rows(query)
        return rows if isinstance(rows, CodedRows) else code_rows(rows, self.levels)

    def learn_levels(self, query: Rows) -> CodedRows:
        rows, before = histogram_rows(query), self.levels
        if isinstance(rows, CodedRows):
            return rows
        coded = self.histograms.learn_levels(rows)
        if self.levels is not before:
            self.u = self._level_u()
        return coded

    def follow_levels(self, levels: LevelTable) -> None:
        # Ids are stable, so rows stay as they are.
        self.histograms.levels = levels
        self.u = self._level_u()

    def remove(self, rows: Indices) -> None:
        self.rows.remove(rows)

    def with_kernel(self, kernel: IntersectionKernel) -> Self:
        """The same rows under another kernel."""
        return type(self)(self.histograms, kernel)

    def features(self, query: Rows | None = None) -> LevelFeatures:
        """Phi of coded rows; of the training rows if none are given, where K = Phi Phi^T."""
        levels, rows = self.levels, self.rows if query is None else coded_rows(query)
        return LevelFeatures(levels.sorted_positions(rows), rows.starts, levels.start, self.u[levels.order])

    def _profile(self, query: Rows, levels: Levels) -> Floats:
        out = np.zeros((len(levels.u), len(query)))
        coding.profile(*self._entries(query), levels, out, 0, len(query))
        return out

    def _entries(self, query: Rows) -> tuple[Indices, Dims, Floats]:
        """Where each row starts, and the dimension and u of each entry."""
        rows = histogram_rows(query)
        if isinstance(rows, CodedRows):
            return rows.starts, self.levels.dims[rows.codes], self.u[rows.codes]
        return rows.starts, rows.dims, self.kernel.apply(rows.values, rows.dims)

    def _sorted_levels(self) -> Levels:
        levels = self.levels
        return Levels(levels.start, levels.order, levels.sorted_values, self.u[levels.order])

    def _table(self, v: Floats) -> Floats:
        sums = scatter(self.rows.codes, self.rows.starts, v, len(self.levels))
        table = np.empty_like(sums)
        products.table(self.levels.order, self.levels.start, self.u, sums, table)
        return table

    def _level_u(self) -> Floats:
        return self.kernel.apply(self.levels.values, self.levels.dims)
