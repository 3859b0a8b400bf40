"""Slow and obvious twins of Freytag2012: one item, one eigenvector, one training row at a time."""

import math

import numpy as np


def fapu(K, noise, cross, own, k):
    """The bound of the variance of one row (eq. 16): own = k(x, x), cross = k(X, x)."""
    values, vectors = np.linalg.eigh(K + np.diag(noise))
    largest = list(reversed(range(len(K))))
    k = min(k, len(K) - 1)
    rest = sum(c * c for c in cross)
    explained = 0.0
    for i in largest[:k]:
        projection = sum(vectors[j, i] * cross[j] for j in range(len(K)))
        explained += projection**2 / values[i]
        rest -= projection**2
    return own - explained - rest / values[largest[k]]


def rapu(K, noise, parts, own):
    """The rough bound of one row (eq. 12 and 14); parts = what each dimension adds to k(x, x_i), n x D."""
    squares = sum(part * part for row in parts for part in row)
    return own - squares / np.linalg.eigvalsh(K + np.diag(noise)).max()


def unc_plus(means, variance, noise):
    """Unc+ of one item (eq. 17): |mu| + sqrt(noise + variance).

    For two classes with means mu and -mu their difference is 2 |mu|. So of more classes, where the best two have no
    common |mu|, half of their difference stands for it.
    """
    if len(means) <= 2:
        return abs(means[-1]) + math.sqrt(noise + variance)
    second, best = sorted(means)[-2:]
    return (best - second) / 2 + math.sqrt(noise + variance)
