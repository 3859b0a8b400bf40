"""The linear system of level space, updated as rows and levels are added or removed."""

from typing import Self

import numpy as np

from core._jit import counting
from core._parallel import over_balanced
from core._types import Floats, Indices
from core.drafts import Drafted
from core.linalg.cholesky import Factor, grown

REFRESH = 1000  # changes after which the factor is computed again, so that rounding does not add up
PENDING = 64  # rows whose counts may be added later, so that a copy need not copy S x S counts at once


class LevelSystem(Drafted):
    """A = I + G P G, P the weighted counts of feature pairs, G = diag(root_gap); S x S.

    A row is a rank-one change of A. A level between two others splits a feature: since no row tells the halves apart,
    that is a rotation, which is a rank-one update and an appended row of the factor.
    """

    def __init__(self, counts: Floats, root_gap: Floats) -> None:
        self._counts = counts
        self._shared = False  # the counts, with a draft or with what this is a draft of
        self._pending: tuple[tuple[Indices, float], ...] = ()  # members and weight of rows that are not counted yet
        self.root_gap = root_gap
        self._factor: Factor | None = None
        self._changes = 0

    def draft(self) -> Self:
        """A shallow copy to change (see core.drafts)."""
        self._shared = True
        twin = super().draft()
        twin._factor = None if self._factor is None else self._factor.draft()
        return twin

    @property
    def size(self) -> int:
        """S."""
        return len(self.root_gap)

    @property
    def factor(self) -> Factor:
        """Cholesky factor of A, built from the counts if there is none."""
        if self._factor is None:
            self._count()
            self._factor = Factor(self.size, self._fill)
            self._changes = 0
        return self._factor

    def solve(self, b: Floats) -> Floats:
        """A^-1 b, S x M."""
        return self.factor.solve(b)

    def expect(self, changes: int) -> None:
        """Announce so many changes: where a new factor is cheaper, the old one is dropped and not carried along."""
        # A factorisation uses every core's arithmetic, a rank-one change waits for memory: about S / 256 to one.
        self._changes += changes
        if changes > max(4, self.size // 256) or self._changes > REFRESH:
            self._factor = None

    def add(self, members: Indices, weight: float) -> None:
        """Add a row that has these features (or take it away, with a negative weight)."""
        self._pending = (*self._pending, (np.sort(members), weight))
        if self._factor is None or len(self._pending) > PENDING:
            self._count()
        if self._factor is not None:
            v = np.zeros(self.size)
            v[members] = self.root_gap[members] * np.sqrt(abs(weight))
            if weight > 0.0:
                self._factor.update(v)
            elif not self._factor.downdate(v):
                self._factor = None

    def append(self, gap: float) -> None:
        """A feature that no row has: a level above all others of its dimension."""
        self._append(np.zeros(self.size + 1), np.sqrt(gap))

    def split(self, feature: int, lower_gap: float, upper_gap: float) -> None:
        """A level below this feature's: the new feature gets the lower part of the gap, the old one keeps the rest."""
        row = self._row(feature)
        counts = np.append(row, row[feature])
        if self._factor is not None:
            angle = np.arctan2(np.sqrt(lower_gap), np.sqrt(upper_gap))
            self._factor.scale_row(feature, np.cos(angle))
            v = np.zeros(self.size)
            v[feature] = np.sin(angle)
            self._factor.update(v)
        self.root_gap = self.root_gap.copy()
        self.root_gap[feature] = np.sqrt(upper_gap)
        self._append(counts, np.sqrt(lower_gap))

    def _append(self, counts: Floats, root_gap: float) -> None:
        """Add a feature with these counts with every feature, itself last."""
        n = self.size
        if self._factor is not None:
            column = counts[:n] * self.root_gap * root_gap
            if not self._factor.append(column[:, None], np.array([[1.0 + counts[n] * root_gap**2]])):
                self._factor = None
        counts_with_room = grown(self._counts, n)
        self._counts, self._shared = counts_with_room, self._shared and counts_with_room is self._counts
        self._counts[n, : n + 1] = counts
        self.root_gap = np.append(self.root_gap, root_gap)

    def _row(self, feature: int) -> Floats:
        """Counts of a feature with every feature."""
        row = np.concatenate([self._counts[feature, :feature], self._counts[feature : self.size, feature]])
        for members, weight in self._pending:
            if feature in members:
                row[members] += weight
        return row

    def _count(self) -> None:
        """Add the pending rows to the counts, which are copied first if a draft shares them."""
        if self._pending:
            counts = self._counts.copy(order="F") if self._shared else self._counts
            self._shared, self._counts = False, counts
            for members, weight in self._pending:
                counting.add_to_pairs(counts, members, weight)
            self._pending = ()

    def _fill(self, out: Floats) -> None:
        over_balanced(
            lambda lo, hi: counting.scale_counts(self._counts, self.root_gap, 1.0, out, lo, hi),
            np.arange(self.size, 0, -1),
        )
