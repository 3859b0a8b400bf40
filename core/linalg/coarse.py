"""A preconditioner from the kernel itself, with fewer levels."""

import numpy as np

from core._jit import counting
from core._types import Floats, Indices
from core.linalg.features import LevelFeatures
from core.linalg.level_system import LevelSystem
from core.linalg.products import gather

COARSE_LEVELS = 2048


class CoarsePreconditioner:
    """(R K_c R + D)^-1, where K_c rounds every value down to a kept level and D = N + R^2 diag(K - K_c).

    Kept are the levels with the largest share of the kernel's trace. The system is solved in its own level space, as
    R (K_c + R^-1 D R^-1) R; the diagonal of R, `scale`, is positive.
    """

    def __init__(
        self, features: LevelFeatures, noise: Floats, size: int = COARSE_LEVELS, *, scale: Floats | float = 1.0
    ) -> None:
        self._features, self._scale = _coarser(features, size), np.reshape(scale, (-1, 1))
        diagonal, noise = _diagonal(features), noise / scale**2
        # The inversion lemma subtracts; the floor keeps eight digits of the difference however small the noise is.
        self._d = noise + np.maximum(diagonal - _diagonal(self._features), 1e-8 * diagonal)
        self._system = LevelSystem(self._features.counts(1.0 / self._d), self._features.root_gap)

    def __call__(self, r: Floats) -> Floats:
        """(R K_c R + D)^-1 r by the matrix inversion lemma, n x M."""
        r = r / self._scale / self._d[:, None]
        w = self._system.solve(self._features.project(r))
        return np.asarray((r - self._features.expand(w) / self._d[:, None]) / self._scale)


def _coarser(features: LevelFeatures, size: int) -> LevelFeatures:
    counts = np.bincount(features.codes, minlength=features.size).astype(np.float64)[:, None]
    counting.suffix_sums(np.arange(features.size), features.start, counts)
    energy = features.root_gap**2 * counts[:, 0]
    kept: Indices = np.sort(np.argsort(-energy, kind="stable")[:size])
    start = np.searchsorted(kept, features.start)
    # The last kept level at or below each level; before the dimension's first one there is none.
    below = np.searchsorted(kept, np.arange(features.size), side="right") - 1
    dims = np.repeat(np.arange(len(features.start) - 1), np.diff(features.start))
    codes = np.where(below >= start[dims], below, -1)[features.codes]
    held = codes >= 0
    starts = np.concatenate(([0], np.cumsum(held)))[features.starts]
    return LevelFeatures(codes[held].astype(features.codes.dtype), starts, start, features.u[kept])


def _diagonal(features: LevelFeatures) -> Floats:
    return gather(features.codes, features.starts, features.u[:, None])[:, 0]
