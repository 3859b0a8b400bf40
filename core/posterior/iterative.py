"""Iterative posterior: block CG on kernel products, when both n and S are large."""

import warnings

import numpy as np

from core._types import Floats, Indices
from core.linalg import CGResult, CoarsePreconditioner, HistogramOperator, block_cg
from core.posterior.base import Posterior
from core.rows import Rows

TOLERANCE = 1e-10
MAX_ROUNDS = 2000


class IterativePosterior(Posterior):
    """Each change solves again from the last weights. `rounds` and `converged` report on the last solve."""

    name = "iterative"
    block_rows = 32
    operator: HistogramOperator

    @property
    def weights(self) -> Floats:
        return self._weights

    def _variance(self, query: Rows) -> Floats:
        cross = self.operator.cross(query)
        solved = self._solve(cross, None).x
        explained: Floats = np.einsum("nb,nb->b", cross, solved)
        return np.maximum(self.operator.diagonal(query) - explained, 0.0)

    def inverse_times(self, v: Floats) -> Floats:
        return self._solve(v, None).x

    def _fit(self) -> None:
        self._weights = np.zeros_like(self.targets)
        self._rows_changed()

    def _added(self, n: int) -> None:
        new = np.zeros((len(self.operator) - n, self._weights.shape[1]))
        self._weights = np.concatenate([self._weights, new])
        self._rows_changed()

    def _removing(self, rows: Indices) -> None:
        self._weights = np.delete(self._weights, rows, axis=0)

    def _removed(self) -> None:
        self._rows_changed()

    def _retargeted(self) -> None:
        if self._weights.shape != self.targets.shape:
            self._weights = np.zeros_like(self.targets)
        result = self._solve(self.targets, self._weights)
        self._weights, self.rounds, self.converged = result.x, result.rounds, result.converged

    def _rows_changed(self) -> None:
        factors = self.operator.factors
        # What K has besides, a constant, is one direction more: a round or two.
        scale = np.where(factors > 0.0, factors, 1.0)
        self._precondition = CoarsePreconditioner(self.operator.features(), self.noise, scale=scale)
        self._retargeted()

    def _solve(self, b: Floats, x: Floats | None) -> CGResult:
        result = block_cg(
            self._system, b, x, precondition=self._precondition, tolerance=TOLERANCE, max_rounds=MAX_ROUNDS
        )
        if not result.converged:
            from sklearn.exceptions import ConvergenceWarning

            warnings.warn(
                f"conjugate gradients stopped after {result.rounds} rounds at a relative residual of "
                f"{result.residual:.1e}, not {TOLERANCE:g}: raise the noise, quantise to fewer levels, or choose "
                'posterior="levels" or "dual" if memory allows',
                ConvergenceWarning,
                stacklevel=2,
            )
        return result
