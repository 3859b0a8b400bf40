"""Histograms from other features: values scaled to [0, 1] beside their complements, or split by sign."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from core._types import Floats, Table
from core.histograms.chunked import reduced


@dataclass(frozen=True, eq=False)
class Complement:
    """Turns x into [s, 1 - s] with s = (x - low) / (high - low), so that HIK is sum_d (1 - |s_d - s'_d|).

    Values outside of the range [low, high] are clipped to it: the scale never changes under stored rows.

    >>> Complement.of(np.array([[0.0], [10.0]]))(np.array([[2.5], [99.0]])).tolist()
    [[0.25, 0.75], [1.0, 0.0]]
    """

    low: Floats  # D
    high: Floats  # D

    @classmethod
    def of(cls, x: Table) -> "Complement":
        """The range of each column."""
        return reduced(x, cls._of_block, cls.joined)

    @classmethod
    def _of_block(cls, x: Table) -> "Complement":
        low, high = x.min(axis=0), x.max(axis=0)
        if sp.issparse(low):
            low, high = low.toarray().ravel(), high.toarray().ravel()
        return cls(np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64))

    def joined(self, other: "Complement") -> "Complement":
        """The range of the rows of both."""
        return Complement(np.minimum(self.low, other.low), np.maximum(self.high, other.high))

    def __call__(self, x: Table) -> Floats:
        dense = x.toarray() if sp.issparse(x) else x
        # Halves, so that the range of huge values does not overflow.
        span = self.high / 2 - self.low / 2
        scaled = (dense / 2 - self.low / 2) / np.where(span > 0, span, 1.0)
        scaled = np.clip(scaled, 0.0, 1.0)
        return np.hstack([scaled, 1.0 - scaled])


def split_signs(x: Table) -> Table:
    """Positive parts, then negative parts: HIK is the sum of min(|x_d|, |x'_d|) where both have the same sign.

    >>> split_signs(np.array([[2.0, -3.0]])).tolist()
    [[2.0, 0.0, 0.0, 3.0]]
    """
    if sp.issparse(x):
        return sp.hstack([x.maximum(0.0), (-x).maximum(0.0)], format="csr")
    return np.hstack([np.maximum(x, 0.0), np.maximum(-x, 0.0)])
