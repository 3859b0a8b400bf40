"""A labelled pool as plain arrays, and back."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.drafts import read_only
from core.forest import LabelledForest
from core.histograms import Allocate, CodedRows, Complement, Histograms, LevelTable, Room
from core.kernels import DenseKernel, IntersectionKernel, LinearKernel, RBFKernel, group_weights
from core.linalg import DenseOperator, HistogramOperator, Operator
from core.posterior import LabelledPool, LocalParts, Part, PoolPosterior
from core.settings import Reader, Settings
from core.softmax import ClassTree, LabelledSoftmax

AnyPool = LabelledPool | LabelledSoftmax | LabelledForest
Arrays = Mapping[str, NDArray[Any]]


def dump(labelled: AnyPool, reader: Reader, *, warm: bool) -> dict[str, NDArray[Any]]:
    """All arrays of a labelled pool, and what is needed to read more items; `warm` with what a fit may start from."""
    return {
        **_dump_rows(labelled.operator, labelled.all_rows, reader),
        **labelled.keepsakes(warm=warm),
        "learnt": np.array(labelled.learnt, dtype=np.int64),
        "labels": labelled.numbers.copy(),
        "factors": labelled.factors.copy(),
        "theta": np.array(list(labelled.hyperparameters.values())),
        "mean": read_only(labelled.mean),
        "variance": read_only(labelled.variance),
    }


def load(
    settings: Settings, arrays: Arrays, n_classes: int, allocate: Allocate = np.empty
) -> tuple[LabelledPool, Reader]:
    """What `dump` was given, under the settings it had: the posterior solved from scratch, the pool as it was."""
    operator, rows, reader = _load_rows(settings, arrays, allocate)
    model = settings.regression(operator.only(np.empty(0, dtype=np.int64)), np.empty(0, dtype=np.int64), n_classes)
    model.noise = float(arrays["theta"][-1])
    model.operator = operator.only(arrays["learnt"])
    model.labels, model.factors = arrays["labels"], arrays["factors"]
    pool = PoolPosterior.of(LocalParts(Part(rows, arrays["mean"], arrays["variance"])))
    labelled = LabelledPool(model, pool, arrays["learnt"].tolist())
    labelled.refit()
    return labelled, reader


def load_softmax(
    settings: Settings, arrays: Arrays, tree: ClassTree, allocate: Allocate = np.empty
) -> tuple[LabelledSoftmax, Reader]:
    """The same under the softmax likelihood; from the weights of a warm dump."""
    operator, rows, reader = _load_rows(settings, arrays, allocate)
    noises = arrays["theta"][len(operator.kernel.theta) :].tolist()
    none = CodedRows.empty(rows.lineage) if isinstance(rows, CodedRows) else rows[:0]
    labelled = LabelledSoftmax.begin(operator, none, tree, noises, settings.max_memory)
    labelled.take_up(rows, arrays)
    return labelled, reader


def load_forest(
    settings: Settings, arrays: Arrays, n_classes: int, allocate: Allocate = np.empty
) -> tuple[LabelledForest, Reader]:
    """The same with a forest; models are solved when they are needed."""
    operator, rows, reader = _load_rows(settings, arrays, allocate)
    labelled = LabelledForest.of(settings, operator, rows, float(arrays["theta"][-1]), n_classes)
    labelled.take_up(arrays)
    return labelled, reader


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
    """An operator of all pool rows under the kernel in use, the rows, and the reader."""
    theta = arrays["theta"]
    if "x" in arrays:
        dense = _dense_kernel(settings, arrays["x"].shape[1])
        dense = dense.with_theta(theta[: len(dense.theta)])
        return DenseOperator(arrays["x"], dense), arrays["x"], Reader(histograms=False, complement=None)
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
    kernel = kernel.with_theta(theta[: len(kernel.theta)])
    return HistogramOperator(Histograms(levels, rows), kernel), rows, reader


def _dense_kernel(settings: Settings, n_dims: int) -> DenseKernel:
    weights, groups = group_weights(settings.weights, settings.groups, n_dims)
    if settings.kernel == "linear":
        return LinearKernel(weights, groups, float(settings.bias))
    return RBFKernel(weights, groups, float(settings.bias))
