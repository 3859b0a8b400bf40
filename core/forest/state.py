"""A forest as plain arrays, and back; models are solved again from rows and labels."""

from dataclasses import replace
from typing import Any, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from core._types import Arrays, Table
from core.factory import make_kernel, reader_with
from core.forest.forest import Forest
from core.forest.leaf import LeafSettings
from core.forest.rows import TableRows
from core.forest.tree import TreeRule, dump_trees, load_trees
from core.histograms import Complement
from core.settings import Settings


def dump(forest: Forest[TableRows]) -> dict[str, NDArray[Any]]:
    """All that cannot be computed again: rows, labels, trees, hyperparameters."""
    own = [
        (t, node, np.append(leaf.kernel.theta, leaf.noise))
        for t, leaves in enumerate(forest.leaves)
        for node, leaf in leaves.items()
        if leaf.kernel is not None and leaf.noise is not None
    ]
    arrays = {
        **_dump_table(forest.rows.take()),
        "labels": forest.labels,
        "n_classes": np.array(forest.n_classes),
        **dump_trees(forest.trees),
        "rule": np.array(forest.rule),
        "seed": np.array(forest.seed),
        "leaf_size": np.array(forest.settings.leaf_size),
        "theta": np.append(forest.settings.kernel.theta, forest.settings.noise),
        "own_places": np.array([(t, node) for t, node, _ in own], dtype=np.int64).reshape(-1, 2),
        "own_theta": np.array([theta for _, _, theta in own]),
    }
    complement = forest.rows.reader.complement
    return arrays | ({"low": complement.low, "high": complement.high} if complement else {})


def load(settings: Settings, arrays: Arrays) -> Forest[TableRows]:
    """The forest that gave these arrays, under the settings it had."""
    x = _load_table(arrays)
    complement = Complement(arrays["low"], arrays["high"]) if "low" in arrays else None
    rows = TableRows(x, reader_with(settings, complement), settings.levels)
    theta = arrays["theta"]
    kernel = make_kernel(settings, x, rows.reader).with_theta(theta[:-1])
    leaf = LeafSettings(kernel, float(theta[-1]), int(arrays["leaf_size"]), settings.max_memory)
    rule: TreeRule = next(name for name in get_args(TreeRule) if name == str(arrays["rule"]))
    n_classes, seed = int(arrays["n_classes"]), int(arrays["seed"])
    forest = Forest(leaf, rows, arrays["labels"], n_classes, load_trees(arrays), rule, seed)
    for (t, node), own in zip(arrays["own_places"].tolist(), arrays["own_theta"], strict=True):
        known = forest.leaves[t][node]
        forest.leaves[t][node] = replace(known, kernel=kernel.with_theta(own[:-1]), noise=float(own[-1]))
    return forest


def _dump_table(x: Table) -> dict[str, NDArray[Any]]:
    if not sp.issparse(x):
        return {"x": x}
    return {"x_data": x.data, "x_indices": x.indices, "x_indptr": x.indptr, "x_shape": np.array(x.shape)}


def _load_table(arrays: Arrays) -> Table:
    if "x" in arrays:
        return arrays["x"]
    parts = (arrays["x_data"], arrays["x_indices"], arrays["x_indptr"])
    return sp.csr_array(parts, shape=tuple(arrays["x_shape"]))
