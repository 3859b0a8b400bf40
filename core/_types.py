"""Array types, by what they hold."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Dims = NDArray[np.int32]
Codes = NDArray[np.uint16] | NDArray[np.uint32]
