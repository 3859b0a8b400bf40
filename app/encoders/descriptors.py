"""Dense local descriptors: what a picture looks like around the points of a grid.

Gradients are counted by orientation in square cells once; windows of cells are the descriptors (dense SIFT without its
Gaussian window), sums of cells the gradient histograms. Textures are uniform local binary patterns (Ojala et al. 2002):
which neighbours of a pixel are no brighter than it. Places are shares of the height and the width.
"""

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from core._types import Floats, Indices

CELL = 4  # pixels
WINDOW = 4  # cells
ORIENTATIONS = 8
FAINT = 64.0  # sum of gradients in a window up to which it counts as flat rather than as texture
FINE = 32  # cells of a side up to which windows are one cell apart, two beyond
RING = ((0, 0), (0, 1), (0, 2), (1, 2), (2, 2), (2, 1), (2, 0), (1, 0))  # the neighbours of (1, 1), in a circle
PATTERNS = 59  # 58 whose ring changes at most twice, and one for all others


def _pattern_numbers() -> Indices:
    """The number of each of the 256 patterns of a ring."""
    rings = np.arange(256)[:, None] >> np.arange(8) & 1
    uniform = (rings != np.roll(rings, 1, axis=1)).sum(axis=1) <= 2
    return np.where(uniform, np.cumsum(uniform) - 1, PATTERNS - 1)


PATTERN_NUMBERS = _pattern_numbers()


def gradient_cells(luma: NDArray[Any]) -> Floats:
    """Gradient magnitude by cell and orientation, shared by the two orientations next to it: h x w x ORIENTATIONS."""
    height, width = (length // CELL for length in luma.shape)
    down, right = np.gradient(luma[: height * CELL, : width * CELL].astype(np.float64))
    magnitude = np.hypot(down, right)
    turn = np.arctan2(down, right) / (2 * np.pi) * ORIENTATIONS % ORIENTATIONS
    below = np.floor(turn)
    share = turn - below
    first = below.astype(np.int64) % ORIENTATIONS
    cell = (np.arange(height * CELL) // CELL)[:, None] * width + np.arange(width * CELL) // CELL
    size = height * width * ORIENTATIONS
    total = np.zeros(size)
    for orientation, part in ((first, 1.0 - share), ((first + 1) % ORIENTATIONS, share)):
        total += np.bincount((cell * ORIENTATIONS + orientation).ravel(), (magnitude * part).ravel(), size)
    return total.reshape(height, width, ORIENTATIONS)


def descriptors(cells: Floats) -> tuple[Floats, Floats]:
    """One row per window, and the place of its middle.

    Rows are square roots of histograms, so that their distance is Hellinger's.
    """
    stride = 1 if max(cells.shape[:2]) <= FINE else 2
    windows = sliding_window_view(cells, (WINDOW, WINDOW), axis=(0, 1))[::stride, ::stride]
    places = (_positions(*windows.shape[:2]) * stride + WINDOW / 2) / cells.shape[:2]
    flat = windows.reshape(len(places), -1)
    return np.sqrt(flat / (flat.sum(axis=1, keepdims=True) + FAINT)), places


def colour_cells(picture: NDArray[np.uint8]) -> tuple[Floats, Floats]:
    """The mean colour of each cell, and the place of its middle."""
    height, width = (length // CELL for length in picture.shape[:2])
    blocks = picture[: height * CELL, : width * CELL].reshape(height, CELL, width, CELL, 3)
    return blocks.mean(axis=(1, 3)).reshape(-1, 3), _middles(height, width)


def orientations(cells: Floats) -> tuple[Indices, Floats]:
    """The orientation of each entry of the cells, and the place of its cell."""
    height, width, n = cells.shape
    return np.tile(np.arange(n), height * width), np.repeat(_middles(height, width), n, axis=0)


def textures(luma: NDArray[Any]) -> tuple[Indices, Floats, Floats]:
    """The pattern around each inner pixel at full and, with numbers of their own, at half size; places and weights.

    A pixel of half size stands for four.
    """
    height, width = (length // 2 for length in luma.shape)
    half = luma[: 2 * height, : 2 * width].reshape(height, 2, width, 2).astype(np.float32).mean(axis=(1, 3))
    found = [_patterns(size) for size in (luma, half)]
    numbers = [own.ravel() + scale * PATTERNS for scale, own in enumerate(found)]
    places = [_middles(*own.shape) for own in found]
    weights = [np.full(own.size, 4.0**scale) for scale, own in enumerate(found)]
    return np.concatenate(numbers), np.concatenate(places), np.concatenate(weights)


def _patterns(luma: NDArray[Any]) -> Indices:
    height, width = luma.shape[0] - 2, luma.shape[1] - 2
    inner = luma[1:-1, 1:-1]
    rings = np.zeros(inner.shape, dtype=np.int64)
    for place, (down, right) in enumerate(RING):
        rings |= (inner >= luma[down : down + height, right : right + width]).astype(np.int64) << place
    return PATTERN_NUMBERS[rings]


def nearest(points: Floats, centres: Floats) -> Indices:
    """For each point the number of the centre that is nearest to it."""
    return np.asarray((points @ centres.T - (centres**2).sum(axis=1) / 2).argmax(axis=1))


def histogram(words: Indices, places: Floats, n_words: int, grid: int, weights: Floats | None = None) -> Floats:
    """How often each word is in each region of grid x grid, as shares of all.

    >>> histogram(np.array([0, 1, 1]), np.array([[0.1, 0.1], [0.6, 0.0], [1.0, 0.4]]), 2, 2).round(2).tolist()
    [0.33, 0.0, 0.0, 0.0, 0.0, 0.67, 0.0, 0.0]
    """
    rows, columns = np.minimum((places * grid).astype(np.int64), grid - 1).T
    counts = np.bincount((rows * grid + columns) * n_words + words, weights, grid * grid * n_words)
    total = counts.sum()
    return np.asarray(counts / total if total > 0.0 else counts, dtype=np.float64)


def _positions(height: int, width: int) -> Indices:
    return np.stack(np.meshgrid(np.arange(height), np.arange(width), indexing="ij"), axis=-1).reshape(-1, 2)


def _middles(height: int, width: int) -> Floats:
    return np.asarray((_positions(height, width) + 0.5) / (height, width))
