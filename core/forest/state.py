"""A forest as plain arrays, and back; models are solved again from rows and labels."""

from collections.abc import Mapping
from typing import Any, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from core.forest.forest import Forest
from core.forest.leaf import Theory
from core.forest.rows import RowStore
from core.forest.tree import NODE_ARRAYS, Tree, TreeRule
from core.histograms import Complement
from core.settings import Reader, Settings

Arrays = Mapping[str, NDArray[Any]]


def dump(forest: Forest) -> dict[str, NDArray[Any]]:
    """All that cannot be computed again: rows, labels, trees, hyperparameters."""
    theory, trees = forest.theory, forest.trees
    own = [
        (t, node, np.append(leaf.kernel.theta, leaf.noise))
        for t, leaves in enumerate(forest.leaves)
        for node, leaf in leaves.items()
        if leaf.kernel is not None and leaf.noise is not None
    ]
    arrays = {
        **_dump_table(forest.store),
        "labels": forest.store.labels,
        "n_classes": np.array(forest.n_classes),
        "tree_sizes": np.array([len(tree.feature) for tree in trees]),
        **{name: np.concatenate([getattr(tree, name) for tree in trees]) for name in NODE_ARRAYS},
        "rule": np.array(forest.rule),
        "seed": np.array(forest.seed),
        "leaf_size": np.array(theory.leaf_size),
        "theta": np.append(theory.kernel.theta, theory.noise),
        "own_places": np.array([(t, node) for t, node, _ in own], dtype=np.int64).reshape(-1, 2),
        "own_theta": np.array([theta for _, _, theta in own]),
    }
    complement = theory.reader.complement
    return arrays | ({"low": complement.low, "high": complement.high} if complement else {})


def load(settings: Settings, arrays: Arrays) -> Forest:
    """The forest that gave these arrays, under the settings it had."""
    x = _load_table(arrays)
    sparse = settings.kernel == "linear" and settings.likelihood == "softmax"
    complement = Complement(arrays["low"], arrays["high"]) if "low" in arrays else None
    reader = Reader(settings.kernel == "hik", complement, settings.split, sparse)
    theta = arrays["theta"]
    kernel = settings.make_kernel(x, reader).with_theta(theta[:-1])
    theory = Theory(settings, reader, kernel, float(theta[-1]), int(arrays["leaf_size"]))
    ends = np.cumsum(arrays["tree_sizes"])[:-1]
    parts = zip(*(np.split(arrays[name], ends) for name in NODE_ARRAYS), strict=True)
    rule: TreeRule = next(name for name in get_args(TreeRule) if name == str(arrays["rule"]))
    store = RowStore(x, arrays["labels"])
    trees = [Tree(*part) for part in parts]
    forest = Forest(theory, store, int(arrays["n_classes"]), trees, rule, int(arrays["seed"]))
    for (t, node), own in zip(arrays["own_places"], arrays["own_theta"], strict=True):
        leaf = forest.leaves[int(t)][int(node)]
        leaf.kernel, leaf.noise = kernel.with_theta(own[:-1]), float(own[-1])
    return forest


def _dump_table(store: RowStore) -> dict[str, NDArray[Any]]:
    x = store.table
    if not sp.issparse(x):
        return {"x": x}
    return {"x_data": x.data, "x_indices": x.indices, "x_indptr": x.indptr, "x_shape": np.array(x.shape)}


def _load_table(arrays: Arrays) -> Any:
    if "x" in arrays:
        return arrays["x"]
    parts = (arrays["x_data"], arrays["x_indices"], arrays["x_indptr"])
    return sp.csr_array(parts, shape=tuple(arrays["x_shape"]))
