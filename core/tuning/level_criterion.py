"""Criteria by the S x S system of level space: rows are counted once, whatever the number of settings tried."""

import numpy as np

from core._blas import blas_threads
from core._types import Floats
from core.kernels import IntersectionKernel, Kernel
from core.linalg import HistogramOperator, LevelFeatures, LevelSystem
from core.tuning.criteria import CriterionName, Evaluation, evidence_value


class LevelCriterion:
    """Evidence or leave-one-out squared error from A = I + Phi^T N^-1 Phi, N = noise * shape.

    What the n x n formulas need follows from (K + N)^-1 Phi = N^-1 Phi A^-1.
    """

    def __init__(self, operator: HistogramOperator, targets: Floats, shape: Floats, name: CriterionName) -> None:
        self._operator = operator
        self._targets = targets
        self._shape = shape
        self._name = name
        features = operator.features()
        self._counts = features.counts(1.0 / shape)
        self._sums = features.sums(targets / shape[:, None])
        self._squares = float((targets**2 / shape[:, None]).sum())

    def __call__(self, kernel: Kernel, noise: float, *, gradient: bool = False) -> Evaluation:
        assert isinstance(kernel, IntersectionKernel)
        operator = self._operator.with_kernel(kernel)
        features = operator.features()
        root = features.root_gap
        system = LevelSystem(self._counts, root / np.sqrt(noise))
        right = root[:, None] * self._sums / noise
        w = system.solve(right)
        inverse = system.factor.inverse() if gradient or self._name == "loo" else None
        if self._name == "evidence":
            result = self._evidence(system, right, w, inverse, noise)
        else:
            assert inverse is not None
            result = self._leave_one_out(features, w, inverse, noise, gradient)
        value, amplitude, by_gap_scaled, by_log_noise = result
        if by_gap_scaled is None:
            return Evaluation(value, amplitude)
        gap = root**2
        by_u = features.by_u(np.where(gap > 0.0, by_gap_scaled / np.where(gap > 0.0, gap, 1.0), 0.0))
        levels = operator.levels
        by_theta = kernel.pull_back(levels.values[levels.order], levels.dims[levels.order], by_u)
        return Evaluation(value, amplitude, by_theta, by_log_noise)

    def _evidence(
        self, system: LevelSystem, right: Floats, w: Floats, inverse: Floats | None, noise: float
    ) -> tuple[float, float, Floats | None, float]:
        n, m = self._targets.shape
        squares, explained = self._squares / noise, float(np.vdot(right, w))
        determinant = n * np.log(noise) + float(np.log(self._shape).sum()) + system.factor.log_determinant()
        value = evidence_value(squares - explained, determinant, n, m)
        amplitude = (squares - explained) / (n * m)
        if inverse is None:
            return value, amplitude, None, 0.0
        own = np.diagonal(inverse)
        # gap_k z_k^T B z_k = 1 - [A^-1]_kk and rg_k z_k^T alpha = w_k.
        by_gap = (m * (1.0 - own) - (w**2).sum(axis=1)) / 2
        trace = n - system.size + float(own.sum())
        by_log_noise = (m * trace - (squares - explained - float(np.vdot(w, w)))) / 2
        return value, amplitude, by_gap, by_log_noise

    def _leave_one_out(
        self, features: LevelFeatures, w: Floats, inverse: Floats, noise: float, gradient: bool
    ) -> tuple[float, float, Floats | None, float]:
        diagonal = noise * self._shape
        error = self._targets - features.expand(w)
        # B_ii = (1 - h_i) / N_i with the leverage h_i = phi_i^T A^-1 phi_i / N_i.
        own = ((1.0 - features.quadratics(inverse) / diagonal) / diagonal)[:, None]
        weights = error / diagonal[:, None]
        residuals = weights / own
        value, amplitude = float(np.mean(residuals**2)), float(np.mean(residuals**2 * own))
        if not gradient:
            return value, amplitude, None, 0.0
        # The same H as in the dual criterion, seen through Phi.
        shares = residuals / own
        q = (shares * residuals).sum(axis=1)
        counts = features.counts(q / diagonal**2)[: features.size, : features.size]
        middle = np.tril(counts) + np.tril(counts, -1).T
        middle *= features.root_gap[:, None] * features.root_gap
        with blas_threads(2 * len(inverse) ** 3):
            product = inverse @ middle
        through = np.einsum("st,st->s", product, inverse)
        w_shares = inverse @ features.project(shares / diagonal[:, None])
        scale = 2.0 / residuals.size
        by_gap = scale * (through - (w * w_shares).sum(axis=1))
        moved = float((q / diagonal).sum() - np.trace(product) - through.sum())
        by_log_noise = scale * (moved - float(np.vdot(shares, weights)) + float(np.vdot(w_shares, w)))
        return value, amplitude, by_gap, by_log_noise
