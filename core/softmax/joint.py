"""The covariance of all class functions at all rows, as products."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core._types import Floats, Indices
from core.classes.tree import ClassTree
from core.linalg import Operator, Predictor
from core.rows import Rows
from core.softmax.prior import Prior, PriorGradient

Apply = Callable[[int, Floats], Floats]  # the number of a kernel and columns


class JointKernel:
    """K over n rows and C classes (Seeger2008, eq. 2 with the intercepts of eq. 4).

    Vectors are n x q x C: q problems side by side, so that one pass over the rows serves all of them. With one kernel
    K = k(X, X) (x) B, B the mixing of classes, so that a tree costs no more columns than its classes. Where k(X, X)
    is at hand as a `matrix`, products are those of it.
    """

    def __init__(self, operator: Operator, prior: Prior, matrix: Floats | None = None) -> None:
        self.prior, self._stored = prior, matrix
        self.operators = tuple(
            operator if kernel is operator.kernel else operator.with_kernel(kernel) for kernel in prior.kernels
        )

    def __len__(self) -> int:
        return len(self.operators[0])

    def product(self, v: Floats) -> Floats:
        """K v."""
        return np.asarray(self._mixed(v, self._one_product) + self._constant(v, axis=0) + self.prior.noise * v)

    def columns(self, rows: Indices) -> "Columns":
        """K(X, rows) for few rows, without the independent parts."""
        return Columns(self, tuple(op.cross(op.training_rows(rows)) for op in self.operators))

    def _one_product(self, number: int, v: Floats) -> Floats:
        flat = v.reshape(len(v), -1)
        product = self.operators[number].product(flat) if self._stored is None else self._stored @ flat
        return np.asarray(product).reshape(v.shape)

    def _constant(self, v: Floats, axis: int) -> Floats:
        """Of the intercepts."""
        return np.asarray(self.prior.intercept * v.sum(axis=axis, keepdims=True))

    def _mixed(self, v: Floats, apply: Apply) -> Floats:
        """`apply` with the kernel of each node, mixed as the tree has it; ... x C."""
        return self.prior.tree.to_classes(self._by_node(v, apply) * self.prior.variances)

    def _by_node(self, v: Floats, apply: Apply) -> Floats:
        """`apply` with the kernel of each node to the sum of the classes under it; ... x P."""
        tree = self.prior.tree
        if len(self.operators) == 1:
            return tree.to_nodes(apply(0, v))
        nodes = tree.to_nodes(v)
        parts = [apply(number, nodes[..., own]) for number, own in enumerate(self._nodes())]
        out = np.empty((*parts[0].shape[:-1], len(tree)))
        out[..., np.concatenate(self._nodes())] = np.concatenate(parts, axis=-1)
        return out

    def _nodes(self) -> list[Indices]:
        return [np.flatnonzero(self.prior.kernel_of == kernel) for kernel in range(len(self.operators))]

    @cached_property
    def _own(self) -> Floats:
        """variance_p k_p(x_i, x_i), n x 1 x P."""
        values = np.column_stack([op.diagonal(op.training_rows(np.arange(len(op)))) for op in self.operators])
        return np.asarray((values[:, self.prior.kernel_of] * self.prior.variances)[:, None, :])

    def own_product(self, v: Floats) -> Floats:
        """K_ii v_i for each row i, the rows taken one by one."""
        tree = self.prior.tree
        return tree.to_classes(self._own * tree.to_nodes(v)) + (self.prior.intercept + self.prior.noise) * v

    @cached_property
    def diagonal(self) -> Floats:
        """Of K, n x 1 x C."""
        return self.prior.tree.to_classes(self._own) + (self.prior.intercept + self.prior.noise)

    def predictor(self, weights: Floats) -> "Latents":
        """x -> the latent functions at x, for weights n x C."""
        prior, tree = self.prior, self.prior.tree
        constants = prior.intercept * weights.sum(axis=0)
        nodes = tree.to_nodes(weights) * prior.variances
        if len(self.operators) == 1:
            return Latents((self.operators[0].predictor(tree.to_classes(nodes)),), None, tree, constants)
        parts = self._nodes()
        predictors = tuple(op.predictor(nodes[:, part]) for op, part in zip(self.operators, parts, strict=True))
        return Latents(predictors, np.concatenate(parts), tree, constants)

    def gradient(self, e: Floats, f: Floats) -> PriorGradient:
        """Of the sum over problems of e^T K f by the prior's parameters: products do not grow with their number."""
        prior, tree = self.prior, self.prior.tree
        by_node = self._by_node(f, self._one_product)
        e_nodes, f_nodes = tree.to_nodes(e), tree.to_nodes(f)
        variances = np.einsum("nqp,nqp->p", e_nodes, by_node)
        thetas = tuple(
            op.pull_back(
                (e_nodes[:, :, nodes] * prior.variances[nodes]).reshape(len(e), -1),
                f_nodes[:, :, nodes].reshape(len(f), -1),
            )
            for op, nodes in zip(self.operators, self._nodes(), strict=True)
        )
        return PriorGradient(variances, thetas, float(np.vdot(e.sum(axis=0), f.sum(axis=0))), float(np.vdot(e, f)))


class MatrixKernel(JointKernel):
    """The same for one kernel that stays, by its matrix (n x n): variances and intercepts alone have gradients."""

    def __init__(self, matrix: NDArray[Any], prior: Prior) -> None:
        self.prior = prior
        self._matrix = matrix

    def __len__(self) -> int:
        return len(self._matrix)

    def _one_product(self, number: int, v: Floats) -> Floats:  # noqa: ARG002
        flat = v.reshape(len(v), -1).astype(self._matrix.dtype, copy=False)
        return np.asarray(self._matrix @ flat, dtype=np.float64).reshape(v.shape)

    def _by_node(self, v: Floats, apply: Apply) -> Floats:
        return self.prior.tree.to_nodes(apply(0, v))

    @cached_property
    def _own(self) -> Floats:
        return np.asarray(np.diag(self._matrix)[:, None, None] * self.prior.variances)

    def gradient(self, e: Floats, f: Floats) -> PriorGradient:
        """Of the sum over problems of e^T K f by variances and intercept."""
        by_node = np.einsum("nqp,nqp->p", self.prior.tree.to_nodes(e), self._by_node(f, self._one_product))
        still = tuple(np.zeros_like(kernel.theta) for kernel in self.prior.kernels)
        return PriorGradient(by_node, still, float(np.vdot(e.sum(axis=0), f.sum(axis=0))), float(np.vdot(e, f)))


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns K(X, rows) of k training rows."""

    joint: JointKernel
    kernels: tuple[Floats, ...]  # n x k for each kernel

    def above(self, n: int) -> "Columns":
        """Their first n rows."""
        return Columns(self.joint, tuple(kernel[:n] for kernel in self.kernels))

    def spread(self, w: Floats) -> Floats:
        """K(X, rows) w for ... x k x C; ... x n x C."""
        return self._mixed(w, lambda number, part: np.matmul(self.kernels[number], part))

    def collect(self, v: Floats) -> Floats:
        """K(rows, X) v for ... x n x C; ... x k x C."""
        return self._mixed(v, lambda number, part: np.matmul(self.kernels[number].T, part))

    def _mixed(self, v: Floats, apply: Apply) -> Floats:
        return self.joint._mixed(v, apply) + self.joint._constant(v, axis=-2)


@dataclass(frozen=True, eq=False)
class Latents:
    """The latent functions of all classes; later changes of the model do not affect them."""

    predictors: tuple[Predictor, ...]
    nodes: Indices | None  # of the predictors' columns; None if these are classes
    tree: ClassTree
    constants: Floats  # C

    def __call__(self, query: Rows, *, quantised: bool = False) -> Floats:
        """rows x C."""
        columns = np.hstack([predictor(query, quantised=quantised) for predictor in self.predictors])
        if self.nodes is not None:
            by_node = np.empty_like(columns)
            by_node[:, self.nodes] = columns
            columns = self.tree.to_classes(by_node)
        return columns + self.constants
