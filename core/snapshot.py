"""A labelled pool as plain arrays, and back."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.histograms import Allocate, CodedRows, Complement, Histograms, LevelTable, Room
from core.kernels import DenseKernel, IntersectionKernel, LinearKernel, RBFKernel, group_weights
from core.linalg import DenseOperator, HistogramOperator, Operator
from core.posterior import LabelledPool, PoolPosterior
from core.settings import Reader, Settings

Arrays = Mapping[str, NDArray[Any]]


def dump(labelled: LabelledPool, reader: Reader) -> dict[str, NDArray[Any]]:
    """All arrays of a labelled pool, and what is needed to read more items."""
    model = labelled.model
    return {
        **_dump_rows(model.operator, labelled.pool.rows, reader),
        "learnt": np.array(labelled.learnt, dtype=np.int64),
        "labels": model.labels,
        "factors": model.factors,
        "theta": np.append(model.operator.kernel.theta, model.noise),
        "mean": labelled.pool.mean,
        "variance": labelled.pool.variance,
    }


def load(
    settings: Settings, arrays: Arrays, n_classes: int, allocate: Allocate = np.empty
) -> tuple[LabelledPool, Reader]:
    """What `dump` was given, under the settings it had: the posterior solved from scratch, the pool as it was."""
    operator, rows, reader = _load_rows(settings, arrays, allocate)
    learnt, theta = arrays["learnt"], arrays["theta"]
    model = settings.model(operator.only(np.empty(0, dtype=np.int64)), np.empty(0, dtype=np.int64), n_classes)
    model.noise = float(theta[-1])
    model.operator = model.operator.with_kernel(model.operator.kernel.with_theta(theta[:-1]))
    model.operator.append(rows.take(learnt) if isinstance(rows, CodedRows) else rows[learnt])
    model.labels, model.factors = arrays["labels"], arrays["factors"]
    model.refit()
    return LabelledPool(model, PoolPosterior.of(rows, arrays["mean"], arrays["variance"]), learnt.tolist()), reader


def _dump_rows(operator: Operator, rows: Any, reader: Reader) -> dict[str, NDArray[Any]]:
    if isinstance(operator, DenseOperator):
        return {"x": np.asarray(rows)}
    assert isinstance(operator, HistogramOperator)
    levels, room = operator.levels, operator.levels.room
    arrays: dict[str, NDArray[Any]] = {
        "codes": rows.codes,
        "starts": rows.starts,
        "level_values": levels.values,
        "level_dims": levels.dims,
        "level_order": levels.order,
        "level_start": levels.start,
        "level_room": np.array([-1 if part is None else part for part in (room.limit, room.total, room.least)]),
        "level_lineage": np.array(levels.lineage),
    }
    if reader.complement is not None:
        arrays |= {"low": reader.complement.low, "high": reader.complement.high}
    return arrays


def _load_rows(settings: Settings, arrays: Arrays, allocate: Allocate) -> tuple[Operator, Any, Reader]:
    """An operator of all pool rows, the rows, and the reader."""
    if "x" in arrays:
        dense = DenseOperator(arrays["x"], _dense_kernel(settings, arrays["x"].shape[1]))
        return dense, arrays["x"], Reader(histograms=False, complement=None)
    limit, total, least = (None if part < 0 else int(part) for part in arrays["level_room"])
    levels = LevelTable(
        arrays["level_values"],
        arrays["level_dims"],
        arrays["level_order"],
        arrays["level_start"],
        Room(limit, total, least or 0),
        str(arrays["level_lineage"]),
    )
    rows = CodedRows.of(arrays["codes"], arrays["starts"], levels.lineage, allocate)
    complement = Complement(arrays["low"], arrays["high"]) if "low" in arrays else None
    n_dims = levels.n_dims - 1
    reader = Reader(histograms=True, complement=complement, split=settings.split)
    weights, groups = group_weights(settings.weights, settings.groups, n_dims // 2 if reader.doubles else n_dims)
    groups = np.concatenate([groups, groups]) if reader.doubles else groups
    kernel = IntersectionKernel(weights, groups, float(settings.bias), settings.transform, float(settings.eta))
    return HistogramOperator(Histograms(levels, rows), kernel), rows, reader


def _dense_kernel(settings: Settings, n_dims: int) -> DenseKernel:
    weights, groups = group_weights(settings.weights, settings.groups, n_dims)
    if settings.kernel == "linear":
        return LinearKernel(weights, groups, float(settings.bias))
    return RBFKernel(weights, groups, float(settings.bias))
