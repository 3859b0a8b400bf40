"""Data for the benchmarks, made on the spot."""

import numpy as np
import scipy.sparse as sp


def word_histograms(n, n_classes=10, n_dims=1000, words=300, seed=0):
    """Rows of words drawn half from a base of the class, half from one of all, both Dirichlet(0.05); L1-normalised."""
    rng = np.random.default_rng(seed)
    shared = rng.dirichlet(np.full(n_dims, 0.05))
    bases = (rng.dirichlet(np.full(n_dims, 0.05), size=n_classes) + shared) / 2
    y = rng.integers(0, n_classes, n)
    counts = np.empty((n, n_dims), dtype=np.int16)
    for c in range(n_classes):
        counts[y == c] = rng.multinomial(words, bases[c], size=int((y == c).sum()))
    return sp.csr_matrix(counts, dtype=np.float64) / words, y


def twenty_levels(n, n_dims=54, seed=0):
    """Dense rows with 20 levels a dimension; the class is a noisy sum of some of them."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 21, size=(n, n_dims), dtype=np.int8)
    score = x[:, :5].sum(axis=1) + rng.normal(scale=5.0, size=n)
    return x / 20.0, np.digitize(score, np.quantile(score, [0.25, 0.5, 0.75]))


def sparse_rows(rng, n, n_dims, held):
    """Rows with so many non-zeros, of sixteen values."""
    columns = np.argsort(rng.random((n, n_dims), dtype=np.float32), axis=1)[:, :held]
    values = rng.integers(1, 17, n * held) / 16
    return sp.csr_matrix((values, columns.ravel(), np.arange(0, n * held + 1, held)), shape=(n, n_dims))
