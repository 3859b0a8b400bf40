"""Prior of the latent functions: kernels, variances, intercepts."""

from dataclasses import dataclass, replace

import numpy as np

from core._types import Floats, Indices
from core.classes.tree import ClassTree
from core.kernels import Kernel


@dataclass(frozen=True, eq=False)
class Prior:
    """Independent functions, one a node, with covariance variance_p k_p; a class has the sum along its path.

    Each class has an intercept besides, and each row and class an independent part of variance `noise`, which gives
    single labels less weight and does not enter predictions.
    """

    tree: ClassTree
    variances: Floats  # P
    kernels: tuple[Kernel, ...]
    kernel_of: Indices  # P, numbers of kernels
    intercept: float = 1.0
    noise: float = 0.0

    @classmethod
    def shared(cls, tree: ClassTree, kernel: Kernel, variance: float = 1.0, intercept: float = 1.0) -> "Prior":
        """One kernel and variance for all nodes."""
        nodes = len(tree)
        return cls(tree, np.full(nodes, variance), (kernel,), np.zeros(nodes, dtype=np.int64), intercept)

    @classmethod
    def per_node(
        cls, tree: ClassTree, kernels: tuple[Kernel, ...], variance: float = 1.0, intercept: float = 1.0
    ) -> "Prior":
        """A kernel of its own for each node (in a flat tree: for each class)."""
        nodes = len(tree)
        return cls(tree, np.full(nodes, variance), kernels, np.arange(nodes), intercept)

    def with_tree(self, tree: ClassTree, renumber: Indices) -> "Prior":
        """For a tree where old nodes have the numbers `renumber`; new ones get the geometric mean of the variances."""
        variances = np.full(len(tree), float(np.exp(np.log(self.variances).mean())) if len(self.variances) else 1.0)
        kernel_of = np.zeros(len(tree), dtype=np.int64)
        variances[renumber], kernel_of[renumber] = self.variances, self.kernel_of
        return replace(self, tree=tree, variances=variances, kernel_of=kernel_of)


@dataclass(frozen=True, eq=False)
class PriorGradient:
    """Gradient of a function by the parameters of a prior."""

    variances: Floats  # P
    thetas: tuple[Floats, ...]  # one for each kernel
    intercept: float
    noise: float
