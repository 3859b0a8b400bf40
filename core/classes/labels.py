"""Class labels as users have them."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from core._types import Indices
from core.classes.nodes import Nodes


def checked_labels(y: Any, n: int) -> Any:
    """n labels of classes, or a ValueError."""
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import column_or_1d

    y = column_or_1d(y, warn=True)
    check_classification_targets(y)
    if len(y) != n:
        raise ValueError(f"there are {n} rows but {len(y)} labels")
    return y


def checked_rows(indices: Any, n: int) -> Indices:
    """Different numbers of n learnt rows, or a ValueError."""
    rows = np.atleast_1d(np.asarray(indices))
    if rows.size == 0:
        return np.empty(0, dtype=np.int64)
    if rows.dtype.kind not in "iu" or rows.min() < 0 or rows.max() >= n or len(np.unique(rows)) < rows.size:
        known = f"different whole numbers from 0 to {n - 1}" if n else "none: no row is kept"
        raise ValueError(f"row numbers must be {known}; got {indices!r}")
    return rows.ravel().astype(np.int64)


def union_of_labels(a: Any, b: Any) -> Any:
    """Sorted union of labels of one kind.

    >>> union_of_labels(["b", "a"], ["c", "b"]).tolist()
    ['a', 'b', 'c']
    """
    a, b = np.asarray(a), np.asarray(b)
    if a.ndim != 1 or (a.dtype.kind == "f" and np.isnan(a).any()):
        raise ValueError(f"classes must be a list of class labels; got {a.tolist()!r}")
    if (a.dtype.kind in "USO") != (b.dtype.kind in "USO"):
        raise ValueError(f"class labels must be all text or all numbers; got {a[:1].tolist()} and {b[:1].tolist()}")
    both = np.concatenate([a, b])
    for part, found in ((a, both[: len(a)]), (b, both[len(a) :])):
        if part.dtype.kind in "iu" and not np.array_equal(found.astype(part.dtype), part):
            raise ValueError(f"labels of types {a.dtype} and {b.dtype} do not fit into one type: use one of them")
    return np.unique(both)


def class_names(known: Any, tree: Mapping[Any, Any] | None) -> Nodes:
    """The nodes of a tree given by parents, with all known labels in it; of sorted labels alone where there is none.

    What has no parent, or None, hangs at the root.

    >>> class_names(["cat", "oak"], {"cat": "animal"}).names
    ('cat', 'oak', 'animal')
    """
    if tree is None:
        return Nodes(tuple(np.asarray(known).tolist()))
    names = [name for pair in tree.items() for name in pair if name is not None]
    known = union_of_labels(known, names) if names else known
    parents = {_plain(child): _plain(parent) for child, parent in tree.items() if parent is not None}
    return Nodes(tuple(np.asarray(known).tolist()), parents)


def _plain(name: Any) -> Any:
    return name.item() if isinstance(name, np.generic) else name
