"""Small softmax problems with their dense twins."""

import numpy as np

from core.classes import ClassTree
from core.histograms import Histograms, raw_rows
from core.kernels import IntersectionKernel, LinearKernel, RBFKernel
from core.linalg import DenseOperator, HistogramOperator, LinearOperator, StoredOperator
from core.softmax import Prior
from tests.core.data import either_form, size, word_counts
from tests.reference.softmax import joint_kernel

N, D = size(40, 14), 5
TREES = {"flat": ClassTree.flat(3), "tree": ClassTree(np.array([3, 3, 4, 4, -1]))}  # 0 and 1 under 3, all under 4
GROUPS, WEIGHTS = np.arange(D) % 3, np.array([0.7, 1.6, 0.4])


def operator(kind, n=N, seed=0):
    """Rows under a kernel, as core has them, and their labels; the rows themselves, too."""
    x, y = word_counts(n, D, 3, words=9, seed=seed)
    if kind == "hik":
        histograms = Histograms.of(x[:-3], None)
        x[-3:] *= 0.9
        histograms.append(raw_rows(x[-3:]))  # ids are no longer in sorted order
        return HistogramOperator(histograms, IntersectionKernel(WEIGHTS, GROUPS, 0.2, "power", 1.3)), x, y
    if kind in ("rbf", "stored"):
        build = StoredOperator if kind == "stored" else DenseOperator
        return build(x, RBFKernel(WEIGHTS, GROUPS, 0.2, 3.0, 1.4)), x, y
    table = either_form(x)[kind == "sparse"]
    return LinearOperator(table, LinearKernel(WEIGHTS, GROUPS, 0.2)), x, y


KINDS = ("hik", "rbf", "stored", "linear", "sparse")


def prior(tree, kernel, *, own=False, noise=0.0, variance=8.0):
    """One kernel for all nodes, or one for each, a little different; variances differ in any case."""
    spread = variance * np.linspace(0.6, 1.8, len(tree))
    kernels = tuple(kernel.with_theta(kernel.theta * (1 + 0.1 * i)) for i in range(len(tree))) if own else (kernel,)
    kernel_of = np.arange(len(tree)) if own else np.zeros(len(tree), dtype=np.int64)
    return Prior(tree, spread, kernels, kernel_of, 0.7, noise)


def dense(op, prior):
    """The joint kernel matrix, nC x nC."""
    rows = op.training_rows(np.arange(len(op)))
    matrices = [op.with_kernel(kernel).cross(rows) for kernel in prior.kernels]
    by_node = [v * matrices[k] for v, k in zip(prior.variances, prior.kernel_of, strict=True)]
    return joint_kernel(by_node, prior.tree.paths.toarray(), prior.intercept, prior.noise)
