"""Classes as the leaves of a tree (Seeger2008, section 3)."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from core._types import Floats, Indices

ROOT = -1
Loss = Literal["class", "parent", "tree"]


@dataclass(frozen=True, eq=False)
class ClassTree:
    """C leaves, which are the classes, then the inner nodes, P in all; the root is no node. Flat: P = C.

    A label is the number of a node: below C a class, from C on "one of the classes under this node".

    >>> tree = ClassTree(np.array([3, 3, -1, -1]))  # classes 0 and 1 under node 3, class 2 beside it
    >>> tree.n_classes, tree.depth.tolist()
    (3, [2, 2, 1, 1])
    """

    parents: Indices  # P, ROOT for what hangs at the root

    @classmethod
    def flat(cls, n_classes: int) -> "ClassTree":
        """Classes without structure."""
        return cls(np.full(n_classes, ROOT))

    @cached_property
    def n_classes(self) -> int:
        """C."""
        inner = self.parents[self.parents != ROOT]
        return int(inner.min()) if len(inner) else len(self.parents)

    def __len__(self) -> int:
        """P."""
        return len(self.parents)

    @property
    def is_flat(self) -> bool:
        return len(self) == self.n_classes

    @cached_property
    def _ancestors(self) -> list[list[int]]:
        """Each node and what is above it, upwards."""
        chains = []
        for node in range(len(self)):
            chain = [node]
            while (above := int(self.parents[chain[-1]])) != ROOT:
                chain.append(above)
            chains.append(chain)
        return chains

    @cached_property
    def depth(self) -> Indices:
        """Of each node; 1 below the root."""
        return np.array([len(chain) for chain in self._ancestors], dtype=np.int64)

    @cached_property
    def branch(self) -> Indices:
        """The root's child that each node is or is under."""
        return np.array([chain[-1] for chain in self._ancestors], dtype=np.int64)

    @cached_property
    def paths(self) -> Any:
        """C x P: 1 where the node is the class or above it. Sparse."""
        chains = self._ancestors[: self.n_classes]
        rows = np.repeat(np.arange(self.n_classes), [len(chain) for chain in chains])
        columns = np.concatenate([np.empty(0, dtype=np.int64), *map(np.asarray, chains)]).astype(np.int64)
        return sp.csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(self.n_classes, len(self)))

    def to_nodes(self, v: Floats) -> Floats:
        """Sum over the classes under each node: ... x C to ... x P."""
        return v if self.is_flat else _columns(v, self.paths.T)

    def to_classes(self, v: Floats) -> Floats:
        """Sum along each class's path: ... x P to ... x C."""
        return v if self.is_flat else _columns(v, self.paths)

    def under(self, labels: Indices) -> NDArray[np.bool_]:
        """Which classes each label allows, rows x C."""
        allowed: NDArray[np.bool_] = self.paths.T.tocsr()[labels].toarray() > 0.0
        return allowed

    def covers(self, labels: Indices, classes: Indices) -> NDArray[np.bool_]:
        """Whether each label is this class, or a node above it.

        >>> ClassTree(np.array([3, 3, -1, -1])).covers(np.array([3, 1]), np.array([0, 0])).tolist()
        [True, False]
        """
        if self.is_flat or not len(labels):
            return np.asarray(labels == classes)
        return np.asarray(self.under(labels)[np.arange(len(labels)), classes])

    def decide(self, probabilities: Floats, loss: Loss = "class") -> Indices:
        """The class with the least expected loss: of being wrong, of a wrong parent, or of the distance in the tree.

        Half the path between two classes is half their depths less the depth of where they meet, and that is the
        number of nodes they share; so the expected distance needs only the probabilities of nodes.

        >>> tree = ClassTree(np.array([3, 3, -1, -1]))
        >>> p = np.array([[0.31, 0.31, 0.38]])
        >>> [int(tree.decide(p, loss)[0]) for loss in ("class", "parent", "tree")]
        [2, 0, 0]
        """
        n_classes = self.n_classes
        if loss == "class":
            return np.asarray(probabilities.argmax(axis=1))
        if loss == "tree":
            shared = self.to_classes(self.to_nodes(probabilities))
            return np.asarray((self.depth[:n_classes] / 2 - shared).argmin(axis=1))
        families, family = np.unique(self.parents[:n_classes], return_inverse=True)
        member = sp.csr_matrix((np.ones(n_classes), (np.arange(n_classes), family)), shape=(n_classes, len(families)))
        best = _columns(probabilities, member.T).argmax(axis=1)
        return np.asarray(np.where(family == best[:, None], probabilities, -1.0).argmax(axis=1))

    def distance(self, a: Indices, b: Indices) -> Floats:
        """Half the length of the path between classes."""
        shared = np.asarray(self.paths[a].multiply(self.paths[b]).sum(axis=1)).ravel()
        return np.asarray((self.depth[a] + self.depth[b]) / 2 - shared)


def _columns(v: Floats, matrix: Any) -> Floats:
    """v times the transpose of a sparse matrix, along the last axis."""
    flat = v.reshape(-1, v.shape[-1])
    return np.ascontiguousarray((matrix @ flat.T).T).reshape(*v.shape[:-1], matrix.shape[0])
