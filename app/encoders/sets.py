"""Sets of vectors as pyramids: a sparse histogram whose intersection is the pyramid match kernel.

Kapoor2010, section 5: K = sum_i w_i (I_i - I_{i-1}), where I_i counts the matches in the bins of level i, and bins of
level i - 1 are parts of those of level i. A bin's matches are taken off again in the bin around it, so with bins as
the nodes of a tree, K = sum over bins of (w_bin - w_around) min(a_bin, b_bin). These weights are not negative as
smaller bins weigh more, and min(ca, cb) = c min(a, b), so counts times weights are the histogram.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from pydantic import Field

from app.encoders.contract import Arrays, Channel, Encoded, Encoder, Options, Raw, Step, silent
from app.encoders.pyramids import Grid, Pyramid, Vocabulary
from core._types import Floats

FLAT = 3  # dimensions up to which a grid is better than a vocabulary
SAMPLE = 50_000  # points that a vocabulary is learnt from, at most
PORTION = 100


class SetOptions(Options):
    """The shape of the pyramid."""

    pyramid: Literal["auto", "uniform", "vocabulary"] = Field(
        "auto", description="bins of a grid, or clusters of clusters; auto takes the grid for up to 3 dimensions"
    )
    levels: Annotated[int, Field(ge=1, le=16)] = Field(5, description="of the pyramid; the coarsest is one bin")
    branches: Annotated[int, Field(ge=2, le=100)] = Field(8, description="clusters in a cluster")
    normalise: bool = Field(False, description="share each set's points by their number, against large sets")


@dataclass(frozen=True, eq=False)
class SetEncoder(Encoder):
    """Counts points by bin, times what the bin's matches count beyond those of the bin around it.

    Columns are the bins that the pool has points in. So the kernel is exact for any two sets of which one is of the
    pool; two later ones may share bins that nobody was in, and match in wider bins only.
    """

    options: SetOptions
    pyramid: Pyramid
    columns: dict[tuple[int, bytes], int]  # level and bin -> column
    weights: Floats  # one per column

    kind: ClassVar = "sets"
    options_type: ClassVar = SetOptions

    @classmethod
    def fit(cls, raws: Sequence[Raw], options: SetOptions, seed: int, on_step: Step) -> Self:
        """The pyramid of all points, and the bins they are in."""
        dims = next((np.asarray(raw).shape[1] for raw in raws if _reason(raw, None) is None), 0)
        sets = [np.asarray(raw, dtype=np.float64) for raw in raws if _reason(raw, dims) is None]
        if not sets:
            raise ValueError(f"none of the {len(raws)} items is a set of vectors of finite numbers")
        points = np.concatenate(sets)
        pyramid: Pyramid
        if options.pyramid == "uniform" or (options.pyramid == "auto" and dims <= FLAT):
            pyramid = Grid.of(points, options.levels)
        else:
            chosen = np.sort(np.random.default_rng(seed).permutation(len(points))[:SAMPLE])
            pyramid = Vocabulary.of(points[chosen], options.levels, options.branches, seed)
        columns: dict[tuple[int, bytes], int] = {}
        weights: list[float] = []
        for level, bins, extra in _levels(pyramid, points):
            for bin_, first in zip(*np.unique(bins, axis=0, return_index=True), strict=True):
                if extra[first] > 0.0:
                    columns[level, bin_.tobytes()] = len(weights)
                    weights.append(extra[first])
        on_step(len(raws))
        return cls(options, pyramid, columns, np.array(weights))

    @classmethod
    def of_arrays(cls, options: SetOptions, arrays: Arrays) -> Self:
        """The pyramid, and the bins level by level."""
        pyramid: Pyramid
        if "low" in arrays:
            pyramid = Grid(arrays["low"], arrays["span"], options.levels)
        else:
            nodes = {name: arrays[name] for name in ("centres", "first_child", "n_children", "weight")}
            pyramid = Vocabulary(**nodes, levels=options.levels)
        columns: dict[tuple[int, bytes], int] = {}
        for level, bin_ in zip(arrays["bin_levels"].tolist(), arrays["bins"], strict=True):
            columns[level, bin_.tobytes()] = len(columns)
        return cls(options, pyramid, columns, arrays["bin_weights"])

    @property
    def channels(self) -> tuple[Channel, ...]:
        """One channel of all columns."""
        return (Channel("matches", len(self.weights)),)

    def encode(self, raws: Sequence[Raw], on_step: Step = silent) -> Encoded:
        """A sparse row for each set."""
        dims = self._dims()
        broken = {place: reason for place, raw in enumerate(raws) if (reason := _reason(raw, dims))}
        good = [place for place in range(len(raws)) if place not in broken]
        starts = [0]
        indices: list[int] = []
        values: list[float] = []
        for done, place in enumerate(good, 1):
            row = self._row(np.asarray(raws[place], dtype=np.float64))
            indices.extend(row)
            values.extend(row.values())
            starts.append(len(indices))
            if done % PORTION == 0 or done == len(good):
                on_step(place + 1)
        shape = (len(good), len(self.weights))
        table = sp.csr_matrix((np.array(values, dtype=np.float64), indices, starts), shape=shape)
        table.sort_indices()
        return Encoded(table, good, broken)

    def _row(self, points: Floats) -> dict[int, float]:
        """Weighted counts by column."""
        share = 1.0 / len(points) if self.options.normalise else 1.0
        row = {}
        for level, bins in enumerate(self.pyramid.bins(points)):
            for bin_, count in zip(*np.unique(bins, axis=0, return_counts=True), strict=True):
                column = self.columns.get((level, bin_.tobytes()))
                if column is not None:
                    row[column] = float(count * self.weights[column] * share)
        return row

    def _dims(self) -> int:
        arrays = self.pyramid.arrays()
        return len(arrays["low"]) if "low" in arrays else int(arrays["centres"].shape[1])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The pyramid, and the bins with their levels and weights."""
        return {
            **self.pyramid.arrays(),
            "bin_levels": np.array([level for level, _ in self.columns]),
            "bins": np.array([np.frombuffer(bin_, dtype=np.int64) for _, bin_ in self.columns]),
            "bin_weights": self.weights,
        }

    def describe(self) -> dict[str, Any]:
        """The description, with which pyramid it became."""
        return {**super().describe(), "pyramid": "uniform" if isinstance(self.pyramid, Grid) else "vocabulary"}


def _levels(pyramid: Pyramid, points: Floats) -> Iterator[tuple[int, NDArray[np.int64], Floats]]:
    """Level, the bin of each point, and what a match there counts beyond one in the bin around it."""
    around = np.zeros(len(points))
    for level, bins in enumerate(pyramid.bins(points)):
        weights = pyramid.weights(level, bins)
        yield level, bins, weights - around
        around = weights


def _reason(raw: Raw, dims: int | None) -> str | None:
    """Why this is not a set of vectors of so many dimensions."""
    try:
        numbers = np.asarray(raw)
    except ValueError:  # vectors of different lengths
        numbers = np.empty(0)
    if numbers.ndim != 2 or numbers.dtype.kind not in "fiu" or not numbers.size:
        return "expected a list of vectors of the same length"
    if dims is not None and numbers.shape[1] != dims:
        return f"expected vectors of {dims} numbers, got {numbers.shape[1]}"
    return None if np.isfinite(numbers).all() else "every number must be finite"
