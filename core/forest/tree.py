"""Decision trees as flat arrays: scikit-learn grows them, rows are routed and leaves are split here."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from core._jit import routing
from core._parallel import over_slices
from core._types import Arrays, Floats, Indices, Table

TreeRule = Literal["extra", "random", "best"]
BLOCK_ROWS = 1 << 16
PlainTree = tuple[tuple[float, ...], ...]  # the arrays of a tree as plain numbers
NODE_ARRAYS = ("feature", "threshold", "left", "right")
LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True, eq=False)
class Tree:
    """Node i sends a row to left[i] if x[feature[i]] <= threshold[i], else to right[i]; leaves have feature -1.

    Values are compared in single precision, as in scikit-learn's trees.

    >>> tree = Tree.leaf().split(0, Tree(np.array([1, -1, -1]), np.zeros(3), np.array([1, 0, 0]), np.array([2, 0, 0])))
    >>> tree.route(np.array([[5.0, -1.0], [5.0, 1.0]])).tolist()
    [1, 2]
    """

    feature: Indices
    threshold: Floats
    left: Indices
    right: Indices

    @classmethod
    def leaf(cls) -> "Tree":
        """One leaf that holds everything."""
        return cls(np.full(1, -1), np.zeros(1), np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64))

    @classmethod
    def of(cls, plain: PlainTree) -> "Tree":
        """From plain numbers."""
        feature, threshold, left, right = plain
        whole = (np.array(part, dtype=np.int64) for part in (left, right))
        return cls(np.array(feature, dtype=np.int64), np.array(threshold, dtype=np.float64), *whole)

    @property
    def plain(self) -> PlainTree:
        """As plain numbers, in the order of `NODE_ARRAYS`."""
        return tuple(tuple(getattr(self, name).tolist()) for name in NODE_ARRAYS)

    @property
    def leaves(self) -> Indices:
        """The nodes that are leaves."""
        return np.flatnonzero(self.feature < 0)

    def route(self, x: Table) -> Indices:
        """The leaf of each row."""
        out = np.zeros(x.shape[0], dtype=np.int64)
        if len(self.feature) > 1:
            feature = self.feature
            if sp.issparse(x):  # a column that no node looks at need not be dense
                used = np.unique(feature[feature >= 0])
                x, feature = x[:, used], np.where(feature < 0, -1, np.searchsorted(used, feature))
            for first in range(0, len(out), BLOCK_ROWS):
                part = slice(first, first + BLOCK_ROWS)
                self._route(_single(x[part]), feature, out[part])
        return out

    def _route(self, x: NDArray[np.float32], feature: Indices, out: Indices) -> None:
        over_slices(
            lambda lo, hi: routing.route(x, feature, self.threshold, self.left, self.right, out, lo, hi),
            len(x),
            32 * len(x),
        )

    def split(self, node: int, below: "Tree") -> "Tree":
        """With another tree in the place of a leaf; its nodes come last, but for its root."""
        shift = len(self.feature) - 1  # node j > 0 of the other tree becomes j + shift
        feature, threshold, left, right = (np.concatenate([mine, theirs[1:]]) for mine, theirs in self._pairs(below))
        left[len(self.left) :] += shift
        right[len(self.right) :] += shift
        feature[node], threshold[node] = below.feature[0], below.threshold[0]
        left[node], right[node] = below.left[0] + shift, below.right[0] + shift
        return Tree(feature, threshold, left, right)

    def _pairs(self, other: "Tree") -> tuple[tuple[Any, Any], ...]:
        return (
            (self.feature, other.feature),
            (self.threshold, other.threshold),
            (self.left, other.left),
            (self.right, other.right),
        )


def dump_trees(trees: Sequence[Tree], prefix: str = "") -> dict[str, NDArray[Any]]:
    """All trees as plain arrays, one behind the other; `load_trees` takes them."""
    return {
        "tree_sizes": np.array([len(tree.feature) for tree in trees]),
        **{f"{prefix}{name}": np.concatenate([getattr(tree, name) for tree in trees]) for name in NODE_ARRAYS},
    }


def load_trees(arrays: Arrays, prefix: str = "") -> list[Tree]:
    """The trees that gave these arrays."""
    ends = np.cumsum(arrays["tree_sizes"])[:-1]
    parts = (np.split(arrays[f"{prefix}{name}"], ends) for name in NODE_ARRAYS)
    return [Tree(*part) for part in zip(*parts, strict=True)]


def tree_rule(n_trees: int) -> TreeRule:
    """Trees that differ if there are several; one alone is the paper's DT-GP."""
    return "best" if n_trees == 1 else "extra"


def grow(x: Table, labels: Indices, leaf_size: int, rule: TreeRule, seed: int) -> Tree:
    """Split by information gain until a leaf is pure or has at most `leaf_size` rows (Froehlich et al., section 3).

    "extra" draws a threshold for each of sqrt(D) columns and takes the best, "random" finds the best threshold of
    sqrt(D) columns, "best" that of all columns.

    >>> grow(np.arange(8.0)[:, None], np.arange(8) // 4, 4, "best", 0).threshold[0].tolist()
    3.5
    """
    from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

    kind = ExtraTreeClassifier if rule == "extra" else DecisionTreeClassifier
    columns = None if rule == "best" else "sqrt"
    model = kind(criterion="entropy", min_samples_split=leaf_size + 1, max_features=columns, random_state=seed)
    grown = model.fit(_single(x, sparse=True), labels).tree_
    inner = grown.children_left >= 0
    return Tree(
        np.where(inner, grown.feature, -1).astype(np.int64),
        np.where(inner, grown.threshold, 0.0),
        np.where(inner, grown.children_left, 0).astype(np.int64),
        np.where(inner, grown.children_right, 0).astype(np.int64),
    )


def _single(x: Table, *, sparse: bool = False) -> Any:
    """Single precision, within its range; dense unless sparse rows may stay as they are."""
    if sp.issparse(x):
        narrow = x.copy()
        narrow.data = _single(x.data[None])[0]
        narrow.indices, narrow.indptr = narrow.indices.astype(np.int32), narrow.indptr.astype(np.int32)
        return narrow if sparse else narrow.toarray()
    if x.dtype != np.float32 and (x.min(initial=0.0) < -LARGEST or x.max(initial=0.0) > LARGEST):
        x = np.clip(x, -LARGEST, LARGEST)
    return np.ascontiguousarray(x, dtype=np.float32)
