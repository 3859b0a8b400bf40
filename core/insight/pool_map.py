"""A map of a pool: its items in the plane, by kernel principal components over a few landmarks."""

from dataclasses import dataclass

import numpy as np

from core._types import Floats, Indices
from core.linalg import Operator
from core.posterior.parts import Applied, Parts, concatenate_parts
from core.rows import Rows

LANDMARKS = 256
SAMPLE_ROWS = 2048  # that the components are found on
TINY = 1e-10  # eigenvalues, relative to the largest, that are rounding


@dataclass(frozen=True, eq=False)
class PoolKernel:
    """The kernel and the items of a pool at one moment; later changes do not touch them, so any thread may use it."""

    operator: Operator  # without rows
    pool: Parts  # all items

    def __len__(self) -> int:
        return len(self.pool)

    def take(self, items: Indices) -> Rows:
        """These items as a query."""
        return self.pool.take(items).rows


def plane_map(pool: PoolKernel, n_landmarks: int = LANDMARKS, n_sample: int = SAMPLE_ROWS) -> Floats:
    """Coordinates of all items along the two directions in which they differ most by the kernel, items x 2.

    With landmarks L the kernel is taken for K(., L) K(L, L)^-1 K(L, .) (Nystrom), whose features are
    z(x) = V^T k(L, x) for V V^T = K(L, L)^-1. Principal components of z on a sample then are a function
    x -> k(x, L) W, which costs a gather for each item. With all items as landmarks and sample this is kernel
    principal component analysis. The item farthest out along a component is on its positive side.
    """
    landmarks, sample = _spread(len(pool), n_landmarks), _spread(len(pool), n_sample)
    operator = pool.operator.only(landmarks[:0])
    operator.append(pool.take(landmarks))
    gram = operator.cross(pool.take(landmarks))
    size = float(gram.diagonal().max()) or 1.0  # so that squares of huge values can be held
    values, vectors = np.linalg.eigh(gram / size)  # scipy's would hold the GIL
    kept = values > TINY * values[-1]
    to_features = vectors[:, kept] / np.sqrt(values[kept])
    features = (operator.cross(pool.take(sample)).T / size) @ to_features
    features -= features.mean(axis=0)
    _, directions = np.linalg.eigh(features.T @ features)
    components = to_features @ directions[:, ::-1][:, :2]
    plane = np.zeros((len(landmarks), 2))
    plane[:, : components.shape[1]] = components / np.sqrt(size)
    found = concatenate_parts(pool.pool.collect(Applied(operator.predictor(plane).for_items())))
    found -= found[sample].mean(axis=0)
    farthest = found[np.abs(found).argmax(axis=0), [0, 1]]
    return np.asarray(found * np.where(farthest < 0.0, -1.0, 1.0))


def _spread(n: int, count: int) -> Indices:
    """So many of n rows, evenly spread."""
    return np.unique(np.linspace(0, n - 1, min(n, count)).astype(np.int64))
