"""Pool rows and their level table as plain arrays, and back."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.histograms import CodedRows, Complement, Histograms, LevelTable, Room
from core.kernels import DenseKernel, IntersectionKernel, LinearKernel, RBFKernel, group_weights
from core.linalg import DenseOperator, HistogramOperator, Operator
from core.settings import Reader, Settings


def dump_rows(operator: Operator, rows: Any, reader: Reader | None) -> dict[str, NDArray[Any]]:
    """The pool's rows with all that is needed to read more of them."""
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
    if reader is not None and reader.complement is not None:
        arrays |= {"low": reader.complement.low, "high": reader.complement.high}
    return arrays


def load_rows(settings: Settings, state: Mapping[str, NDArray[Any]]) -> tuple[Operator, Any, Reader]:
    """An operator of all pool rows, the rows, and the reader, from what `dump_rows` gave."""
    if "x" in state:
        dense = DenseOperator(state["x"], _dense_kernel(settings, state["x"].shape[1]))
        return dense, state["x"], Reader(histograms=False, complement=None)
    limit, total, least = (None if part < 0 else int(part) for part in state["level_room"])
    levels = LevelTable(
        state["level_values"],
        state["level_dims"],
        state["level_order"],
        state["level_start"],
        Room(limit, total, least or 0),
        str(state["level_lineage"]),
    )
    rows = CodedRows.of(state["codes"], state["starts"], levels.lineage)
    complement = Complement(state["low"], state["high"]) if "low" in state else None
    n_dims = levels.n_dims - 1
    weights, groups = group_weights(settings.weights, settings.groups, n_dims // 2 if complement else n_dims)
    groups = np.concatenate([groups, groups]) if complement else groups
    kernel = IntersectionKernel(weights, groups, float(settings.bias), settings.transform, float(settings.eta))
    return HistogramOperator(Histograms(levels, rows), kernel), rows, Reader(histograms=True, complement=complement)


def _dense_kernel(settings: Settings, n_dims: int) -> DenseKernel:
    weights, groups = group_weights(settings.weights, settings.groups, n_dims)
    if settings.kernel == "linear":
        return LinearKernel(weights, groups, float(settings.bias))
    return RBFKernel(weights, groups, float(settings.bias))
