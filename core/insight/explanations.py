"""What each column adds to the posterior mean, for kernels that are sums over columns."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core._types import Floats, Indices
from core.linalg import ChannelSum, LinearPredictor, LookupTable, NormalisedTable, Predictor
from core.rows import ChannelRows, Rows, channel_rows, coded_rows, vectors
from core.softmax import Latents


@dataclass(frozen=True, eq=False)
class Contributions:
    """Parts of the mean of one row: of its columns, and of the constant term; together they are the mean.

    Columns that are not named add nothing.
    """

    columns: Indices  # k, ascending
    parts: Floats  # k x M
    constant: Floats  # M


Span = tuple[int, int]
"""The first column of a channel, and how many it has."""


def contributions(predictor: Predictor, row: Rows, width: int, channels: Sequence[Span] = ()) -> Contributions | None:
    """Of a coded (or dense) row of `width` data columns; None where the kernel is no sum over columns.

    In a sum of kernels these are the columns of its additive channels, and what the others say counts as constant.

    A histogram mean is a sum over the row's codes of entries in a table: one for each column, or two where columns were
    joined by their complements.
    """
    if isinstance(predictor, Latents):
        return _centred(predictor, row, width, channels)
    if isinstance(predictor, ChannelSum):
        return _of_channels(predictor, channel_rows(row), channels)
    if isinstance(predictor, NormalisedTable):
        return _normalised(predictor, row, width)
    if isinstance(predictor, LookupTable):
        codes = coded_rows(row).codes
        dims, entries = predictor.levels.dims[codes], predictor.table[codes]
        is_constant = dims == predictor.levels.n_dims - 1
        columns, place = np.unique(dims[~is_constant] % width, return_inverse=True)
        parts = np.zeros((len(columns), entries.shape[1]))
        np.add.at(parts, place, entries[~is_constant])
        return Contributions(columns.astype(np.int64), parts, entries[is_constant].sum(axis=0))
    return _linear(predictor, vectors(row))


def _linear(predictor: Predictor, row: Floats) -> Contributions | None:
    """Of a linear kernel; None for others."""
    columns = np.flatnonzero(row[0])
    if isinstance(predictor, LinearPredictor):
        return Contributions(columns, row[0, columns, None] * predictor.w[columns], predictor.constant)
    return None


def _normalised(predictor: NormalisedTable, row: Rows, width: int) -> Contributions:
    """The sums of the last column of its table are the factor of the row."""
    assert isinstance(predictor.lookup, LookupTable)
    found = contributions(predictor.lookup, row, width)
    assert found is not None
    own = found.parts.sum(axis=0)[-1]
    scale = np.sqrt(predictor.amplitude / own) if own > 0.0 else 0.0
    return Contributions(found.columns, found.parts[:, :-1] * scale, predictor.constant)


def _of_channels(predictor: ChannelSum, row: ChannelRows, channels: Sequence[Span]) -> Contributions | None:
    """Of all channels of a sum of kernels."""
    columns, parts, constant = [], [], predictor.constant.copy()
    for function, weight, own, (first, width) in zip(
        predictor.functions, predictor.weights, row.channels, channels, strict=True
    ):
        found = contributions(function, own, width)
        if found is None:
            constant += weight * function(own)[0]
            continue
        columns.append(found.columns + first)
        parts.append(weight * found.parts)
        constant += weight * found.constant
    if not columns:
        return None
    together, place = np.unique(np.concatenate(columns), return_inverse=True)
    sums = np.zeros((len(together), len(constant)))
    np.add.at(sums, place, np.concatenate(parts))
    return Contributions(together, sums, constant)


def _centred(latents: Latents, row: Rows, width: int, channels: Sequence[Span]) -> Contributions | None:
    """Of the class functions of the softmax model, less what all of them share."""
    found = contributions(latents.predictors[0], row, width, channels) if latents.nodes is None else None
    if found is None:
        return None
    parts, constant = found.parts, found.constant + latents.constants
    return Contributions(found.columns, parts - parts.mean(axis=1, keepdims=True), constant - constant.mean())
