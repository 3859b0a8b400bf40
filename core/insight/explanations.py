"""What each column adds to the posterior mean, for kernels that are sums over columns."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from core._types import Floats, Indices
from core.kernels import LinearKernel
from core.linalg import DensePredictor, LinearPredictor, LookupTable, NormalisedTable, Predictor
from core.softmax import Latents


@dataclass(frozen=True, eq=False)
class Contributions:
    """Parts of the mean of one row: of its columns, and of the constant term; together they are the mean.

    Columns that are not named add nothing.
    """

    columns: Indices  # k, ascending
    parts: Floats  # k x M
    constant: Floats  # M


def contributions(predictor: Predictor, row: Any, width: int) -> Contributions | None:
    """Of a coded (or dense) row of `width` data columns; None where the kernel is no sum over columns.

    A histogram mean is a sum over the row's codes of entries in a table: one for each column, or two where columns were
    joined by their complements.
    """
    if isinstance(predictor, Latents):
        return _centred(predictor, row, width)
    if isinstance(predictor, NormalisedTable):
        assert isinstance(predictor.lookup, LookupTable)
        found = contributions(predictor.lookup, row, width)
        assert found is not None
        sums = found.parts.sum(axis=0)[-1]
        scale = np.sqrt(predictor.amplitude / sums) if sums > 0.0 else 0.0
        return Contributions(found.columns, found.parts[:, :-1] * scale, predictor.constant)
    if isinstance(predictor, LookupTable):
        dims, entries = predictor.levels.dims[row.codes], predictor.table[row.codes]
        is_constant = dims == predictor.levels.n_dims - 1
        columns, place = np.unique(dims[~is_constant] % width, return_inverse=True)
        parts = np.zeros((len(columns), entries.shape[1]))
        np.add.at(parts, place, entries[~is_constant])
        return Contributions(columns.astype(np.int64), parts, entries[is_constant].sum(axis=0))
    if isinstance(predictor, DensePredictor) and isinstance(predictor.kernel, LinearKernel):
        columns = np.flatnonzero(row[0])
        slopes = predictor.kernel.dim_weights[columns, None] * (predictor.x[:, columns].T @ predictor.v)
        constant = predictor.kernel.bias * predictor.v.sum(axis=0)
        return Contributions(columns, row[0, columns, None] * slopes, constant)
    if isinstance(predictor, LinearPredictor):
        columns = np.flatnonzero(row[0])
        return Contributions(columns, row[0, columns, None] * predictor.w[columns], predictor.constant)
    return None


def _centred(latents: Latents, row: Any, width: int) -> Contributions | None:
    """Of the class functions of the softmax model, less what all of them share."""
    found = contributions(latents.predictors[0], row, width) if latents.nodes is None else None
    if found is None:
        return None
    parts, constant = found.parts, found.constant + latents.constants
    return Contributions(found.columns, parts - parts.mean(axis=1, keepdims=True), constant - constant.mean())
