"""Directions kept from one Newton system to the next, so that a small change costs few kernel products.

The systems of a fit, and of the fit after one more label, have nearly the same few large eigenvalues (constants of the
classes and what separates them), which take conjugate gradients most of their rounds. A direction p with its product
K p serves any later system, whatever its probabilities are: deflation (Saad and others, 2000) with no product of its
own. It follows the rows as they come and go.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from core._types import Floats, Indices
from core.drafts import Drafted

ROOM = 32
MAX_BYTES = 2**28
LEAST = 1e-30  # floor of probabilities, against division by zero
DEPENDENT = 1e-10  # share of the largest below which a direction is the sum of others
ROUNDING = 1e-15  # of a product, as a share of its norm
TRUSTED = 1e-9  # share of its norm that a product may be off by


class Subspace(Drafted):
    """Up to ROOM directions p and products K p, n x C each.

    More directions and more rows are written where a draft (see core.drafts) has none; all other changes go elsewhere.
    """

    def __init__(self, n: int, n_classes: int) -> None:
        self.shape = n, n_classes
        self.room = min(ROOM, MAX_BYTES // max(16 * n * n_classes, 1))
        if self.room < 4:
            self.room = 0
        self._pairs = np.empty((2, self.room, _spacious(self._size)))
        self._filled = 0
        self._errors = np.zeros(self.room)  # bounds of what rounding did to the products, by norm

    def __len__(self) -> int:
        return self._filled

    @property
    def _size(self) -> int:
        return self.shape[0] * self.shape[1]

    @property
    def p(self) -> Floats:
        """Directions, one a line."""
        return self._pairs[0, : self._filled, : self._size]

    @property
    def kp(self) -> Floats:
        """Their products."""
        return self._pairs[1, : self._filled, : self._size]

    def by_row(self) -> tuple[Floats, Floats]:
        """Both as directions x n x C."""
        shape = (self._filled, *self.shape)
        return self.p.reshape(shape), self.kp.reshape(shape)

    def keep(self, p: Floats, kp: Floats, bend: float) -> None:
        """Add a direction whose curvature is `bend`, if there is room."""
        if self._filled < self.room and bend > 0.0:
            self._filled += 1
            self.p[-1], self.kp[-1] = p.ravel() / np.sqrt(bend), kp.ravel() / np.sqrt(bend)
            self._errors = self._errors.copy()  # a draft's own
            self._errors[self._filled - 1] = ROUNDING * np.linalg.norm(self.kp[-1])

    def mix(self, weights: Floats) -> Indices:
        """Take sums of the directions in their place, one a column of the weights; returns which of them were taken.

        A small difference of large directions has the rounding errors of large ones. These would grow with every mix,
        and look like a direction that K stretches much, which is kept: sums that are not to be trusted are left out.
        """
        p, kp = weights.T @ self.p, weights.T @ self.kp
        size = np.linalg.norm(kp, axis=1)
        errors = np.sqrt((weights.T**2) @ self._errors[: self._filled] ** 2) + ROUNDING * size
        good = np.flatnonzero(errors <= TRUSTED * size)
        self._filled, self._pairs, self._errors = len(good), np.empty_like(self._pairs), np.zeros(self.room)
        self.p[:], self.kp[:], self._errors[: len(good)] = p[good], kp[good], errors[good]
        return good

    def clear(self) -> None:
        """Forget all directions."""
        self._filled = 0

    def grow(self, kp: Floats) -> None:
        """More rows, in which the directions are nothing and their products these: directions x rows x C."""
        old = self._size
        self.shape = self.shape[0] + kp.shape[1], self.shape[1]
        new = self._size
        if new > self._pairs.shape[2]:
            pairs = np.empty((2, self.room, _spacious(new)))
            pairs[:, : self._filled, :old] = self._pairs[:, : self._filled, :old]
            self._pairs = pairs
        self._pairs[0, : self._filled, old:new] = 0.0
        self._pairs[1, : self._filled, old:new] = kp.reshape(self._filled, new - old)

    def shrink(self, rows: Indices, spread: Callable[[Floats], Floats]) -> None:
        """Fewer rows; `spread` is the product of their columns of K with what a direction has in them."""
        n, n_classes = self.shape
        pairs = zip(*self.by_row(), strict=True)
        kept = [(np.delete(p, rows, axis=0), np.delete(kp - spread(p[rows]), rows, axis=0)) for p, kp in pairs]
        self._replace(kept, (n - len(rows), n_classes))

    def renumber(self, classes: Indices, n_classes: int) -> None:
        """More classes, in which the directions and their products are nothing; `classes` are the old ones."""
        n = self.shape[0]
        wide = [np.zeros((2, n, n_classes)) for _ in range(self._filled)]
        for pair, p, kp in zip(wide, *self.by_row(), strict=True):
            pair[0, :, classes], pair[1, :, classes] = p.T, kp.T
        self._replace([(pair[0], pair[1]) for pair in wide], (n, n_classes))

    def _replace(self, pairs: list[tuple[Floats, Floats]], shape: tuple[int, int]) -> None:
        self.shape = shape
        self._pairs = np.empty((2, self.room, _spacious(self._size)))
        for i, (p, kp) in enumerate(pairs):
            self.p[i], self.kp[i] = p.ravel(), kp.ravel()


@dataclass(frozen=True, eq=False)
class Deflation:
    """A subspace as one system A sees it: d = p / mu for each direction p (see Curvature), A d = d + C K p."""

    past: Subspace
    d: Floats  # directions x nC
    inverse: Floats  # of D^T A D in the inner product of mu

    @classmethod
    def of(cls, past: Subspace, mu: Floats) -> "Deflation | None":
        """None where nothing is kept. A subspace that is nearly full is reduced to what A stretches most."""
        if not len(past):
            return None
        d = past.p * (1.0 / np.maximum(mu.ravel(), LEAST))
        stretch, basis = _ritz(past.p @ d.T, past.p @ past.kp.T)
        if len(past) > past.room * 3 // 4:
            stretch, basis = stretch[-past.room // 2 :], basis[:, -past.room // 2 :]
            good = past.mix(basis)
            if not len(good):
                return None
            d, stretch, basis = basis[:, good].T @ d, stretch[good], np.eye(len(good))
        return cls(past, d, (basis / (1.0 + stretch)) @ basis.T)

    def solution(self, mr: Floats) -> tuple[Floats, Floats, Floats]:
        """d, p and K p of what the subspace makes of a right side r, given mu r."""
        c = self.inverse @ (self.d @ mr.ravel())
        n = len(c)
        parts = (self.d, self.past.p[:n], self.past.kp[:n])
        first, second, third = ((c @ part).reshape(mr.shape) for part in parts)
        return first, second, third

    def part(self, p: Floats, mr: Floats) -> Floats:
        """What of a direction, given p = mu d, is not conjugate to the subspace, less what rounding left there of r."""
        flat = p.ravel()
        c = self.inverse @ (self.d @ (flat - mr.ravel()) + self.past.kp[: len(self.d)] @ flat)
        return np.asarray((c @ self.d).reshape(p.shape))


def _spacious(size: int) -> int:
    """With room for some rows more; memory that nothing was written to costs nothing."""
    return size + size // 8


def _ritz(gram: Floats, form: Floats) -> tuple[Floats, Floats]:
    """Values, ascending, and vectors of form v = value gram v, without what depends on other vectors."""
    size = np.sqrt(np.maximum(np.diag(gram), np.finfo(float).tiny))
    values, vectors = np.linalg.eigh((gram + gram.T) / (2.0 * np.outer(size, size)))
    free = values > DEPENDENT * values[-1]
    white = vectors[:, free] / (np.sqrt(values[free]) * size[:, None])
    stretch, turned = np.linalg.eigh(white.T @ (form + form.T) @ white / 2.0)
    return np.maximum(stretch, 0.0), white @ turned
