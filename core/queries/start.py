"""When labels tell enough of each other for a strategy that believes the model."""

import numpy as np
from numpy.typing import NDArray

from core._types import Indices

ERRORS = 2.0  # standard errors
MOST = 50  # labels, after which a strategy for the first ones has had its time


def predict_each_other(labels: Indices, right: NDArray[np.bool_]) -> bool:
    """Whether labels are predicted by the others better than by the most frequent class of the others, for certain.

    `right` says of each of n labels whether the others predicted it. One prediction that is better and one that is
    worse are added, so that few labels prove nothing.

    >>> labels = np.array([0] * 12 + [1] * 8)
    >>> predict_each_other(labels, np.ones(20, dtype=bool)), predict_each_other(labels, labels == 0)
    (True, False)
    """
    if len(labels) >= MOST:
        return True
    if not len(labels):
        return False
    counts = np.bincount(labels)
    others = np.tile(counts, (len(labels), 1))
    others[np.arange(len(labels)), labels] -= 1
    gain = np.concatenate([right.astype(float) - (others.argmax(axis=1) == labels), [1.0, -1.0]])
    return bool(gain.mean() >= ERRORS * gain.std() / np.sqrt(len(gain)))
