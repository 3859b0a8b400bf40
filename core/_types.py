"""Array types, by what they hold."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Dims = NDArray[np.int32]
Codes = NDArray[np.unsignedinteger[Any]]  # 16 or 32 bits
Arrays = Mapping[str, NDArray[Any]]  # a dump, by name
Table = Any  # n x D numbers: a dense array or a scipy CSR matrix


def no_rows() -> Indices:
    """An empty index array."""
    return np.empty(0, dtype=np.int64)
