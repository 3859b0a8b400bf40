"""The normal distribution function in tables, against scipy's."""

import numpy as np
from numba import njit
from scipy import special

from core._jit import normal

Z = np.concatenate([np.linspace(-60.0, 12.0, 30_011), [normal.LOW, normal.HIGH, normal.TAIL, -0.0]])


def of_all(function):
    return njit(lambda z: [function(one) for one in z])(Z)


def test_phi():
    assert np.abs(of_all(normal.ndtr) - special.ndtr(Z)).max() < 1e-9


def test_log_phi_also_far_out():
    exact = special.log_ndtr(Z)
    assert (np.abs(of_all(normal.log_ndtr) - exact) <= 1e-9 * np.maximum(np.abs(exact), 1.0)).all()
