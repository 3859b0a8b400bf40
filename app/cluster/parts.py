"""A pool on a cluster: each part is a future, and a change makes new ones."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from distributed import Future
from numpy.typing import NDArray

from app.cluster import work
from core._types import Indices
from core.posterior import Part
from core.posterior.parts import Change

if TYPE_CHECKING:
    from app.cluster.cluster import Cluster

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class ClusterParts:
    """The `Parts` of core on a cluster. Changes are on their way when `map` returns; who collects waits for them."""

    cluster: "Cluster"
    edges: tuple[int, ...]  # where parts begin, and the number of items
    futures: tuple[Future[Any], ...]

    def __len__(self) -> int:
        return self.edges[-1]

    def map(self, change: Change) -> "ClusterParts":
        """One task for each part, where the part is."""
        futures = self.cluster.map(work.changed, list(self.futures), self.cluster.send(change))
        return ClusterParts(self.cluster, self.edges, tuple(futures))

    def collect(self, look: Callable[..., T], along: NDArray[Any] | None = None) -> list[T]:
        """One task for each part; only what is seen travels."""
        stretches: list[tuple[Any, ...]] = [() for _ in self.futures]
        if along is not None:
            cuts = zip(self.edges[:-1], self.edges[1:], strict=True)
            stretches = [(np.packbits(along[first:last]),) for first, last in cuts]
            self.cluster.bytes_sent += sum(bits.nbytes for (bits,) in stretches)
        sent, firsts = self.cluster.send(look), list(self.edges[:-1])
        return self.cluster.gather(self.cluster.map(work.looked_at, firsts, list(self.futures), sent, stretches))

    def take(self, items: Indices) -> Part:
        """Asks only the parts that hold them."""
        owner = np.searchsorted(self.edges, items, side="right") - 1
        asked = np.unique(owner).tolist() or [0]
        places = [items[owner == part] - self.edges[part] for part in asked]
        found = self.cluster.gather(self.cluster.map(work.taken, [self.futures[part] for part in asked], places))
        order = np.argsort(np.argsort(owner, kind="stable"), kind="stable")
        first: Part = found[0]
        return first.joined(found[1:]).take(order)

    def append(self, part: Part) -> "ClusterParts":
        """The last part grows until it is full; then others begin."""
        edges, futures, size = list(self.edges), list(self.futures), self.cluster.part_rows
        done = 0
        while done < len(part):
            held = edges[-1] - edges[-2]
            room = size - held or size
            piece = self.cluster.send(part.between(done, min(len(part), done + room)))
            done = min(len(part), done + room)
            if held < size:
                futures[-1] = self.cluster.map(work.grown, [futures[-1]], piece)[0]
                edges[-1] = self.edges[-1] + done
            else:
                futures.append(piece)
                edges.append(self.edges[-1] + done)
        return ClusterParts(self.cluster, tuple(edges), tuple(futures))
