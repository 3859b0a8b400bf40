"""Data for tests, small where the interpreter runs the kernels."""

import numba
import numpy as np
import scipy.sparse as sp

INTERPRETED = bool(numba.config.DISABLE_JIT)


def size(compiled, interpreted):
    return interpreted if INTERPRETED else compiled


def word_counts(n, n_dims, n_classes, *, words=60, seed=0):
    """Rows of words drawn half from a base of the class, half from one of all; L1-normalised, with labels."""
    rng = np.random.default_rng(seed)
    base = rng.dirichlet(np.full(n_dims, 0.1))
    bases = (rng.dirichlet(np.full(n_dims, 0.1), size=n_classes) + base) / 2
    y = rng.integers(0, n_classes, n)
    y[:n_classes] = np.arange(n_classes)
    return np.array([rng.multinomial(words, bases[c]) for c in y]) / words, y


def continuous(n, n_dims, *, density=0.6, seed=0):
    rng = np.random.default_rng(seed)
    return rng.random((n, n_dims)) * (rng.random((n, n_dims)) < density)


def either_form(x):
    """The same matrix dense and as CSR."""
    return [x, sp.csr_matrix(x)]
