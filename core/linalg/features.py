"""Level space: K = Phi Phi^T with phi_k(x) = sqrt(u_k - u_{k-1}) [x >= level k] (core/DESIGN.md, section 3)."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from core._jit import counting
from core._parallel import over_balanced, over_cuts, over_slices
from core._types import Codes, Floats, Indices
from core.linalg.cholesky import with_room
from core.linalg.products import PARTS, gather, scatter

COUNT_ROWS = 4096


@dataclass(frozen=True, eq=False)
class LevelFeatures:
    """Phi of n coded rows, S features in sorted order: dimension d has features start[d] to start[d + 1]."""

    codes: Codes  # nnz, sorted positions, ascending in a row
    starts: Indices  # n + 1
    start: Indices  # D + 1
    u: Floats  # S, kernel value of each level

    @property
    def size(self) -> int:
        """S."""
        return len(self.u)

    @cached_property
    def root_gap(self) -> Floats:
        """sqrt(u_k - u_{k-1}), S."""
        below = np.concatenate(([0.0], self.u[:-1]))[: self.size]
        below[self.start[:-1][np.diff(self.start) > 0]] = 0.0
        return np.sqrt(self.u - below)

    @cached_property
    def _order(self) -> Indices:
        return np.arange(self.size)

    def by_u(self, by_gap: Floats) -> Floats:
        """Gradient of a function by u from its gradient by the gaps u_k - u_{k-1}."""
        above = np.append(by_gap[1:], 0.0)
        above[self.start[1:][np.diff(self.start) > 0] - 1] = 0.0  # nothing stands above the top of a dimension
        return np.asarray(by_gap - above)

    def expand(self, w: Floats) -> Floats:
        """Phi w, n x M."""
        table = np.ascontiguousarray(self.root_gap[:, None] * w)
        counting.prefix_sums(self._order, self.start, table)
        return gather(self.codes, self.starts, table)

    def project(self, v: Floats) -> Floats:
        """Phi^T v, S x M."""
        return self.root_gap[:, None] * self.sums(v)

    def sums(self, v: Floats) -> Floats:
        """Sum of v over the rows that have each feature, S x M: Phi^T v before it is scaled."""
        sums = scatter(self.codes, self.starts, v, self.size)
        counting.suffix_sums(self._order, self.start, sums)
        return sums

    def quadratics(self, matrix: Floats) -> Floats:
        """phi_i^T M phi_i of each row, n, for a symmetric M (S x S)."""
        return self.pair_sums(self.pair_table(matrix))

    def pair_table(self, matrix: Floats) -> Floats:
        """The scaled M summed up along both axes of each dimension: quadratics are sums over pairs of a row's codes."""
        table = np.array(matrix, order="F")
        table *= self.root_gap[:, None]
        table *= self.root_gap
        counting.prefix_sums(self._order, self.start, table.T)
        over_slices(lambda lo, hi: counting.prefix_columns(table, self.start, lo, hi), self.size, self.size**2)
        return table

    def pair_sums(self, table: Floats) -> Floats:
        """Sum of a symmetric table (S x S, column-major, lower triangle) over all pairs of codes of each row, n."""
        rows = len(self.starts) - 1
        # The cuts depend on S alone, so that a row's sum is the same on every machine and beside any other rows. Early
        # codes of a row have more codes behind them: these cuts make even work of it where codes are spread evenly.
        cuts = [int(self.size * (1.0 - np.sqrt(1.0 - part / PARTS))) for part in range(PARTS + 1)]
        sums = np.zeros((PARTS, rows))
        step = max(COUNT_ROWS, rows // 8)

        def add(part: int, _: int) -> None:
            for first in range(0, rows, step):
                last = min(rows, first + step)
                counting.sum_pairs(self.codes, self.starts, table, sums[part], first, last, cuts[part], cuts[part + 1])

        over_cuts(add, range(PARTS + 1))
        return np.asarray(sums.sum(axis=0))

    def _work(self) -> Floats:
        """Of visiting all pairs of codes in a row, by the first of them; S."""
        work = np.zeros(self.size)
        counting.count_work(self.codes, self.starts, work)
        return work

    def counts(self, weights: Floats) -> Floats:
        """For each pair of features the total weight of the rows that have both: S x S, lower triangle.

        Phi^T diag(weights) Phi is this, scaled by root_gap on both sides. It is a sum over rows. The matrix stands in
        the leading part of a larger one, for features to come.
        """
        counts = with_room(self.size)
        rows = len(self.starts) - 1
        work = self._work()
        # In blocks of rows that stay in the cache, but not so few that writing out the columns is what costs.
        step = max(COUNT_ROWS, int(4 * self.size**2 * rows / max(work.sum(), 1.0)))

        def count(lo: int, hi: int) -> None:
            for first in range(0, rows, step):
                last = min(rows, first + step)
                counting.count_pairs(self.codes, self.starts, weights, counts, first, last, lo, hi)

        over_balanced(count, work)
        dims = np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))
        over_balanced(
            lambda lo, hi: counting.add_columns_above(counts, self.start, lo, hi),
            np.diff(self.start) * (self.size - self.start[:-1]),
        )
        over_balanced(
            lambda lo, hi: counting.add_rows_above(counts, self.start, dims, lo, hi),
            np.arange(self.size, 0, -1),
        )
        return counts
