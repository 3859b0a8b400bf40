"""The standard normal distribution function Phi by cubic interpolation: five times as fast as erfc, exact to 1e-9."""

import math

import numpy as np
from scipy import special

from core._jit.compile import helper
from core._types import Floats

LOW, HIGH, CELLS = -9.0, 9.0, 64  # from where to where, in so many cells a unit

_KNOTS = np.linspace(LOW, HIGH, int(HIGH - LOW) * CELLS + 1)
_LOGS = special.log_ndtr(_KNOTS)
LOG_PHI = np.column_stack([_LOGS, np.exp(-0.5 * _KNOTS**2 - _LOGS) / math.sqrt(2.0 * math.pi) / CELLS])
PHI = np.column_stack([special.ndtr(_KNOTS), np.exp(-0.5 * _KNOTS**2) / math.sqrt(2.0 * math.pi) / CELLS])

ROOT_HALF = math.sqrt(0.5)
TAIL = -30.0  # below it log Phi by its asymptotic series
HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)


@helper
def between(knots: Floats, z: float) -> float:
    """The cubic polynomial of its cell, from LOW to before HIGH."""
    place = (z - LOW) * CELLS
    i = int(place)
    t = place - i
    first, last, start, end = knots[i, 0], knots[i + 1, 0], knots[i, 1], knots[i + 1, 1]
    rise = last - first
    value: float = first + t * (start + t * (3.0 * rise - 2.0 * start - end + t * (start + end - 2.0 * rise)))
    return value


@helper
def ndtr(z: float) -> float:
    """Phi(z)."""
    if z < LOW:
        return 0.5 * math.erfc(-z * ROOT_HALF)
    return 1.0 if z >= HIGH else between(PHI, z)


@helper
def log_ndtr(z: float) -> float:
    """log Phi(z)."""
    if z < TAIL:
        square = 1.0 / (z * z)
        return -0.5 * z * z - math.log(-z) - HALF_LOG_2PI + math.log1p(-square * (1.0 - 3.0 * square))
    if z < LOW:
        return math.log(ndtr(z))
    return 0.0 if z >= HIGH else between(LOG_PHI, z)
