"""Training data on a cluster: chunks of rows and labels that workers read, each of them some."""

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from app.cluster import work
from app.cluster.cluster import Cluster
from core._types import Table

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class ClusterChunks:
    """For `GPHIKClassifier.fit_chunks`: `read(i)` gives rows and labels of chunk i, on any worker the same.

    Levels and the sums of training are then one map and a tree of joins; what a lost worker had is read again.
    """

    cluster: Cluster
    read: Callable[[int], tuple[Any, Any]]
    count: int

    def __iter__(self) -> Iterator[tuple[Table, Any]]:
        return map(self.read, range(self.count))

    def reduced(self, look: Callable[[Table, Any], T], join: Callable[[T, T], T]) -> T:
        """What `look` finds in each chunk, joined over all chunks."""
        sent = self.cluster.send((self.read, look))
        found: T = self.cluster.joined(self.cluster.map(work.look_at_chunk, list(range(self.count)), sent), join)
        return found

    def added(self, look: Callable[[Table, Any], T]) -> T:
        """The sum over all chunks."""
        found: T = self.reduced(look, operator.add)
        return found
