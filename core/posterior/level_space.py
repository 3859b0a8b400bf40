"""Level-space posterior: all in A = I + Phi^T N^-1 Phi, S x S (core/DESIGN.md, section 3). Any n, S small."""

from typing import Self

import numpy as np

from core._jit import counting
from core._types import Floats, Indices
from core.histograms import RawRows
from core.linalg import HistogramOperator, LevelFeatures, LevelSystem, LookupTable, Operator
from core.posterior.base import Influence, Posterior, Variances
from core.posterior.pairs import PairVariances, pay_in_level_space, without_rows
from core.rows import Rows, Size


class LevelPosterior(Posterior):
    """Means from w = A^-1 Phi^T N^-1 Y. The rows enter only through sums over rows; a label is a rank-one change.

    Feature f stands for a level. Features are numbered in sorted order at a fit; levels inserted later get the next
    numbers, so that the system grows at its end. `_feature[id]` is the feature of a level id.
    """

    name = "levels"
    operator: HistogramOperator
    _w: Floats  # S x M

    def draft(self, operator: Operator | None = None) -> Self:
        twin = super().draft(operator)
        twin._space = self._space.draft()
        return twin

    @property
    def weights(self) -> Floats:
        return (self.targets - self.means(self.operator.rows)) / self.noise[:, None]

    @property
    def jitter(self) -> float:
        return self._space.factor.jitter

    def variances(self, size: Size) -> Variances:
        if not pay_in_level_space(size, self.operator):
            return super().variances(size)
        order = self._feature[self.operator.levels.order]
        inverse = self._space.factor.inverse().T[np.ix_(order, order)].T  # symmetric; fast along its memory
        return PairVariances(without_rows(self.operator), self.operator.features().pair_table(inverse), explained=False)

    def _variance(self, query: Rows) -> Floats:
        phi = self._phi(query)
        halves = self._space.factor.half_solve(phi)
        variance: Floats = np.einsum("sb,sb->b", halves, halves)
        if isinstance(query, RawRows):  # what values between and above the levels add; coded rows have none
            rest = self.operator.diagonal(query) - np.einsum("sb,sb->b", phi, phi)
            variance += np.maximum(rest, 0.0)
        return variance

    def covariance(self, query: Rows) -> LookupTable:
        """As in the protocol; of values between two levels, what lies within the same gap is left out."""
        return self._function(self._space.solve(self._phi(query)))

    def influence(self, row: int) -> Influence:
        own = self.operator.training_rows(np.array([row]))
        covariance = self.covariance(own)
        return Influence(covariance, 1.0 - float(covariance(own)[0, 0]) / float(self.noise[row]))

    def inverse_times(self, v: Floats) -> Floats:
        # (K + N)^-1 = N^-1 - N^-1 Phi A^-1 Phi^T N^-1, features in sorted order
        features, order = self.operator.features(), self._feature[self.operator.levels.order]
        scaled = v / self.noise[:, None]
        right = np.empty((len(order), v.shape[1]))
        right[order] = features.project(scaled)
        return scaled - features.expand(self._space.solve(right)[order]) / self.noise[:, None]

    def _phi(self, query: Rows) -> Floats:
        """phi of each row, S x rows; between two levels the upper feature is there in part."""
        levels = self.operator.levels
        parts = self.operator.profile(query)[levels.order]
        bottoms = levels.start[:-1][np.diff(levels.start) > 0]
        bottom_parts = parts[bottoms]
        parts[1:] -= parts[:-1].copy()
        parts[bottoms] = bottom_parts
        features = self._feature[levels.order]
        root_gap = self._space.root_gap[features]
        phi = np.empty_like(parts, order="F")
        phi[features] = parts / np.where(root_gap > 0.0, root_gap, np.inf)[:, None]
        return phi

    def _fit(self) -> None:
        features = self.operator.features()
        self._feature = self.operator.levels.rank
        self._space = LevelSystem(features.counts(1.0 / self.noise), features.root_gap)
        self._sums = features.sums(self.targets / self.noise[:, None])
        self._solve()
        self._refine(lambda: self._correct(features))

    def _correct(self, features: LevelFeatures) -> None:
        # Phi^T alpha - w is what A w lacks of Phi^T N^-1 Y, measured on the rows.
        self._w = self._w + self._space.solve(features.project(self.weights) - self._w)

    def _make_predictor(self) -> LookupTable:
        return self._function(self._w)

    def _function(self, w: Floats) -> LookupTable:
        """x -> phi(x)^T w."""
        levels = self.operator.levels
        table = np.ascontiguousarray((self._space.root_gap[:, None] * w)[self._feature])
        counting.prefix_sums(levels.order, levels.start, table)
        return self.operator.lookup(table)

    def _added(self, n: int) -> None:
        added = np.arange(n, len(self.operator))
        self._space.expect(len(added) + len(self.operator.levels) - len(self._feature))
        self._insert_levels()
        self._absorb(added, 1.0)
        self._solve()

    def follow_levels(self) -> None:
        self._predictor = None
        self._space.expect(len(self.operator.levels) - len(self._feature))
        self._insert_levels()
        self._solve()

    def _removing(self, rows: Indices) -> None:
        self._space.expect(len(rows))
        self._absorb(rows, -1.0)

    def _removed(self) -> None:
        self._solve()
        self._fit_if_inexact()

    def _retargeted(self) -> None:
        sums = self.operator.features().sums(self.targets / self.noise[:, None])
        self._sums = np.empty_like(sums)
        self._sums[self._feature[self.operator.levels.order]] = sums
        self._solve()

    def _solve(self) -> None:
        self._w = self._space.solve(self._space.root_gap[:, None] * self._sums)

    def _absorb(self, rows: Indices, sign: float) -> None:
        levels, self._sums = self.operator.levels, self._sums.copy()
        for i, row in zip(rows, (self.operator.training_rows(rows[j : j + 1]) for j in range(len(rows))), strict=True):
            top = levels.rank[row.codes]
            bottom = levels.start[levels.dims[row.codes]]
            members = self._feature[levels.order[np.concatenate([*map(np.arange, bottom, top + 1)])]]
            self._space.add(members, sign / self.noise[i])
            self._sums[members] += sign * self.targets[i] / self.noise[i]

    def _insert_levels(self) -> None:
        """Follow the operator's table: levels with ids that are new here become features."""
        levels, u, system = self.operator.levels, self.operator.u, self._space
        known = len(self._feature)
        self._feature = np.concatenate([self._feature, np.arange(known, len(levels))])
        for s in range(known, len(levels)):
            place = levels.rank[s]
            first, end = levels.start[levels.dims[s]], levels.start[levels.dims[s] + 1]
            below = u[levels.order[place - 1]] if place > first else 0.0
            # Levels of one dimension come in ascending order, so only what is above may not be there yet.
            above = next((t for t in levels.order[place + 1 : end] if t < s), None)
            if above is None:
                system.append(u[s] - below)
                self._sums = np.concatenate([self._sums, np.zeros((1, self._sums.shape[1]))])
            else:
                feature = int(self._feature[above])
                system.split(feature, u[s] - below, u[above] - u[s])
                self._sums = np.concatenate([self._sums, self._sums[feature : feature + 1]])
