"""The items of a pool as a forest reads them."""

from typing import Self

import numpy as np
import scipy.sparse as sp

from core._types import Floats, Indices, Table, no_rows
from core.drafts import Drafted
from core.forest import Tree
from core.forest.tree import BLOCK_ROWS
from core.histograms import CodedRows, RawRows
from core.kernels import Kernel
from core.linalg import HistogramOperator, Operator
from core.posterior import LabelRegression
from core.rows import Rows, Size, concatenate


class ItemRows(Drafted):
    """Encoded items that all leaves read alike: histograms share one table of levels, which grows with the pool."""

    def __init__(self, operator: Operator, rows: Rows, max_memory: float) -> None:
        self.empty = operator.only(no_rows())  # the kernel, without rows
        self.all = rows
        self.max_memory = max_memory

    def draft(self) -> Self:
        """A twin (see core.drafts)."""
        twin = super().draft()
        twin.empty = self.empty.draft()
        return twin

    def __len__(self) -> int:
        return len(self.all)

    @property
    def pool_size(self) -> Size:
        """All items ask for their moments at each label."""
        return Size.of(self.all)

    def take(self, numbers: Indices | None = None) -> Rows:
        """These items, or all."""
        return self.all if numbers is None else self.all[numbers]

    def append(self, x: Rows) -> None:
        """More items at the end."""
        self.all = concatenate(self.all, [x])

    def table(self, x: Rows) -> Table:
        """The numbers that trees look at: of histograms the values that they have, or would have, as items."""
        if not isinstance(x, CodedRows | RawRows):
            return np.asarray(x)
        assert isinstance(self.empty, HistogramOperator)
        levels = self.empty.levels
        if isinstance(x, CodedRows):
            entries = levels.values[x.codes], levels.dims[x.codes], x.starts
        else:
            full = ~levels.room.has_room(np.diff(levels.start), len(levels))[x.dims]
            positions = levels.nearest(x)
            level = np.where(positions < 0, 0.0, levels.sorted_values[positions])
            entries = np.where(full, level, x.values), x.dims, x.starts
        return sp.csr_array(entries, shape=(len(x), levels.n_dims))

    def route(self, tree: Tree, x: Rows) -> Indices:
        """The leaf of each row, read in blocks."""
        nodes = np.zeros(len(x), dtype=np.int64)
        if len(tree.feature) > 1:
            for first in range(0, len(x), BLOCK_ROWS):
                last = min(len(x), first + BLOCK_ROWS)
                nodes[first:last] = tree.route(self.table(x[first:last]))
        return nodes

    def query(self, x: Rows) -> Rows:
        """Items are encoded already."""
        return x

    def operator(self, numbers: Indices, kernel: Kernel) -> Operator:
        """Of these items."""
        operator = self._under(kernel).only(no_rows())
        operator.append(self.take(numbers))
        return operator

    def distinct(self, numbers: Indices, labels: Indices, noise_factors: Floats) -> tuple[Indices, Indices, Floats]:
        """The same: a model that follows single labels has a row for each."""
        return numbers, labels, noise_factors

    def prior(self, a: Rows, b: Rows, kernel: Kernel) -> Floats:
        """Prior covariance of items, a x b."""
        return self._under(kernel).difference(b, np.zeros((0, len(b))))(a)

    def covariance(self, model: LabelRegression, a: Rows, b: Rows) -> Floats:
        """Posterior covariance of items, a x b."""
        return model.posterior.covariance(b)(a)

    def _under(self, kernel: Kernel) -> Operator:
        return self.empty if kernel is self.empty.kernel else self.empty.with_kernel(kernel)
