"""Pyramids: nested bins of a space, coarsest level first, each bin with a weight that its parts never fall below."""

from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from app.encoders.descriptors import nearest
from core._types import Floats, Indices


class Pyramid(Protocol):
    """Bins of points, level by level, and how much a match in a bin counts: 1 in the narrowest."""

    def bins(self, points: Floats) -> list[NDArray[np.int64]]:
        """For each level the bin of each point, as a row of whole numbers."""
        ...

    def weights(self, level: int, bins: NDArray[np.int64]) -> Floats:
        """Of these bins of a level."""
        ...

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that it was made of."""
        ...


@dataclass(frozen=True, eq=False)
class Grid:
    """Bins of half the side at each level; the space of the pool is one bin at the first."""

    low: Floats  # d
    span: Floats  # d
    levels: int

    @classmethod
    def of(cls, points: Floats, levels: int) -> Self:
        """Over the range of the points."""
        low, span = points.min(axis=0), np.ptp(points, axis=0)
        return cls(low, np.where(span > 0.0, span, 1.0), levels)

    def bins(self, points: Floats) -> list[NDArray[np.int64]]:
        """Level by level, coarsest first: the bin of each point, a number for each dimension.

        Points outside of the pool's range belong to the bins at its edge.
        """
        shares = np.clip((points - self.low) / self.span, 0.0, 1.0)
        sides = 2 ** np.arange(self.levels)
        return [np.minimum((shares * side).astype(np.int64), side - 1) for side in sides]

    def weights(self, level: int, bins: NDArray[np.int64]) -> Floats:
        """One over the side of a bin, with the narrowest as the unit."""
        return np.full(len(bins), 0.5 ** (self.levels - 1 - level))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The range."""
        return {"low": self.low, "span": self.span}


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Clusters of clusters: node 0 is everything, and each node's children are centres next to each other."""

    centres: Floats  # nodes x d
    first_child: Indices  # 0: a leaf
    n_children: Indices
    weight: Floats  # one over the width, never less than that of the node around it
    levels: int

    @classmethod
    def of(cls, points: Floats, levels: int, branches: int, seed: int) -> Self:
        """K-means of the points in each node, level by level."""
        from sklearn.cluster import KMeans

        centres, first, count, width = [points.mean(axis=0)], [0], [0], [_width(points)]
        members: dict[int, Floats] = {0: points}
        for _ in range(levels - 1):
            below: dict[int, Floats] = {}
            for node, inside in members.items():
                n = min(branches, len(np.unique(inside, axis=0)))
                if n < 2:
                    continue
                clusters = KMeans(n, n_init=1, max_iter=50, random_state=seed).fit(inside)
                first[node], count[node] = len(centres), n
                chosen = nearest(inside, clusters.cluster_centers_)
                for child in range(n):
                    part = inside[chosen == child]
                    below[len(centres)] = part
                    centres.append(clusters.cluster_centers_[child])
                    width.append(min(width[node], _width(part)))
                    first.append(0)
                    count.append(0)
            members = below
        # A cluster of one point would weigh without limit: no bin is finer than a grid's of as many levels.
        narrow = (width[0] or 1.0) * 0.5 ** (levels - 1)
        weight = narrow / np.maximum(width, narrow)
        return cls(np.array(centres), np.array(first), np.array(count), weight, levels)

    def bins(self, points: Floats) -> list[NDArray[np.int64]]:
        """Level by level: the node of each point; from a leaf on it stays where it is."""
        at = np.zeros(len(points), dtype=np.int64)
        found = [at[:, None]]
        for _ in range(self.levels - 1):
            at = at.copy()
            for node in np.unique(at[self.n_children[at] > 0]):
                here = at == node
                first, n = self.first_child[node], self.n_children[node]
                at[here] = first + nearest(points[here], self.centres[first : first + n])
            found.append(at[:, None])
        return found

    def weights(self, level: int, bins: NDArray[np.int64]) -> Floats:  # noqa: ARG002
        """Of the nodes."""
        return np.asarray(self.weight[bins[:, 0]])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All nodes."""
        return {
            "centres": self.centres,
            "first_child": self.first_child,
            "n_children": self.n_children,
            "weight": self.weight,
        }


def _width(points: Floats) -> float:
    """Twice the distance of the farthest point from the middle."""
    return float(2.0 * np.sqrt(((points - points.mean(axis=0)) ** 2).sum(axis=1).max()))
