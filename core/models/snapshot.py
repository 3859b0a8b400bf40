"""The rows of a pool and what reads them as plain arrays, and back."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core._types import Arrays, Floats
from core.drafts import read_only
from core.factory import kernel_over, reader_with, sum_kernel
from core.histograms import Allocate, CodedRows, Complement, Histograms, LevelTable, Room
from core.kernels import IntersectionKernel, LinearKernel, RBFKernel
from core.linalg import DenseOperator, HistogramOperator, Operator, SumOperator, histogram_operator
from core.models.base import PoolModel
from core.rows import ChannelRows, Rows, channel_rows, coded_rows
from core.settings import Settings
from core.tables import AnyReader, ChannelReader, Reader
from core.vectors import PoolVectors


def dump(model: PoolModel, reader: AnyReader, *, warm: bool) -> dict[str, NDArray[Any]]:
    """All arrays of a model, and what is needed to read more items; `warm` with what a fit may start from."""
    return {
        **dump_rows(model.operator, model.all_rows, reader),
        **model.dump(warm=warm),
        "learnt": np.array(model.labelled_items, dtype=np.int64),
        "labels": model.numbers.copy(),
        "factors": model.noise_factors.copy(),
        "theta": np.array(list(model.hyperparameters.values())),
        "mean": read_only(model.mean),
        "variance": read_only(model.variance),
    }


def dump_rows(operator: Operator, rows: Rows, reader: AnyReader) -> dict[str, NDArray[Any]]:
    """The rows of all items, and what reads them."""
    if isinstance(operator, SumOperator) and isinstance(reader, ChannelReader):
        parts = zip(operator.channels, channel_rows(rows).channels, reader.readers, strict=True)
        return {
            f"channel{number}_{name}": array
            for number, part in enumerate(parts)
            for name, array in dump_rows(*part).items()
        }
    assert isinstance(reader, Reader)
    if isinstance(operator, DenseOperator):
        return {"x": rows.numbers if isinstance(rows, PoolVectors) else np.asarray(rows)}
    assert isinstance(operator, HistogramOperator)
    levels, room, coded = operator.levels, operator.levels.room, coded_rows(rows)
    arrays: dict[str, NDArray[Any]] = {
        "codes": coded.codes,
        "starts": coded.starts,
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


def load_rows(settings: Settings, arrays: Arrays, allocate: Allocate) -> tuple[Operator, Rows, AnyReader]:
    """An operator of all pool rows under the kernel in use, the rows, and the reader."""
    if isinstance(settings.kernel, tuple):
        parts = [_load(own, _channel(arrays, number), allocate) for number, own in enumerate(settings.channels)]
        operators, rows, readers = zip(*parts, strict=True)
        total = sum_kernel(settings, [operator.kernel for operator in operators])
        operator: Operator = SumOperator(operators, total)
        reader: AnyReader = ChannelReader(settings.kernel, readers)
        return _under(operator, arrays["theta"]), ChannelRows(rows), reader
    operator, rows, reader = _load(settings, arrays, allocate)
    return _under(operator, arrays["theta"]), rows, reader


def _under(operator: Operator, theta: Floats) -> Operator:
    """The operator under its kernel with the leading ones of these parameters."""
    return operator.with_kernel(operator.kernel.with_theta(theta[: len(operator.kernel.theta)]))


def _channel(arrays: Arrays, number: int) -> Arrays:
    prefix = f"channel{number}_"
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _load(settings: Settings, arrays: Arrays, allocate: Allocate) -> tuple[Any, Any, Reader]:
    """Operator, rows and reader of one channel, with the parameters of the settings."""
    if "x" in arrays:
        kernel = kernel_over(settings, arrays["x"].shape[1])
        assert isinstance(kernel, RBFKernel | LinearKernel)
        return DenseOperator(arrays["x"], kernel), arrays["x"], Reader(histograms=False, complement=None)
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
    reader = reader_with(settings, complement)
    kernel = kernel_over(settings, n_dims // 2 if reader.doubles else n_dims, doubles=reader.doubles)
    assert isinstance(kernel, IntersectionKernel)
    return histogram_operator(Histograms(levels, rows), kernel), rows, reader
