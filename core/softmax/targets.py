"""Labels as sets of classes: a single class, or all classes under a node (Seeger2008, section 7.4.2)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from core._types import Floats, Indices
from core.classes.tree import ClassTree


@dataclass(frozen=True, eq=False)
class Targets:
    """Labels of n rows as distributions over C classes. Those of uncertain rows follow the model (E step)."""

    allowed: NDArray[np.bool_]  # n x C
    uncertain: Indices  # rows that allow more than one class

    @classmethod
    def of(cls, labels: Indices, tree: ClassTree) -> "Targets":
        """From node numbers.

        >>> Targets.of(np.array([0, 2]), ClassTree(np.array([2, 2, -1]))).allowed.tolist()
        [[True, False], [True, True]]
        """
        allowed = labels[:, None] == np.arange(tree.n_classes) if tree.is_flat else tree.under(labels)
        return cls(allowed, np.flatnonzero(allowed.sum(axis=1) > 1))

    def expected(self, probabilities: Floats) -> Floats:
        """Distribution of each row's class given its label, for probabilities n x q x C."""
        certain = np.broadcast_to(self.allowed[:, None, :].astype(np.float64), probabilities.shape)
        if not len(self.uncertain):
            return certain
        share = certain[self.uncertain] * np.maximum(probabilities[self.uncertain], 1e-300)
        out = certain.copy()
        out[self.uncertain] = share / share.sum(axis=2, keepdims=True)
        return out

    def losses(self, latents: Floats) -> Floats:
        """-log probability of each row's label, n x q."""
        own = np.where(self.allowed[:, None, :], latents, -np.inf)
        return np.asarray(logsumexp(latents, axis=2) - logsumexp(own, axis=2))
