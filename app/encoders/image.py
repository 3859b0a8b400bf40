"""Pictures as histograms of visual words, gradients, textures and colours, each in parts of the picture."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from pydantic import Field

from app.encoders import descriptors as local
from app.encoders.contract import Arrays, Channel, Encoded, Encoder, Options, Raw, Step, silent
from app.encoders.pictures import BrokenPictureError, luma_and_colour, read_picture
from app.encoders.pretrained import AUTO, KERNEL, MODEL, ModelName, Pretrained, chosen
from app.encoders.processes import in_portions, processes_for
from core._types import Floats, Indices

Words = Annotated[int, Field(ge=1, le=20_000)]
Grids = tuple[Annotated[int, Field(ge=1, le=16)], ...]
POINTS = 60  # of each picture for the vocabularies
MIN_SIZE = 64  # pixels that smaller pictures are scaled up to


class ImageOptions(Options):
    """Vocabularies, and the grids that a picture is divided by; each grid is a channel, and no grid leaves them out."""

    size: Annotated[int, Field(ge=MIN_SIZE, le=1024)] = Field(256, description="pixels of the longer side")
    words: Words = Field(500, description="visual words, at most")
    word_grids: Grids = Field((1, 2), description="spatial pyramid of visual words")
    gradient_grids: Grids = Field((4,), description="spatial pyramid of gradient orientations")
    texture_grids: Grids = Field((1, 3), description="spatial pyramid of textures (local binary patterns)")
    colours: Words = Field(64, description="colours, at most")
    colour_grids: Grids = Field((1, 2), description="spatial pyramid of colours")
    sample: Annotated[int, Field(ge=1)] = Field(500, description="pictures that vocabularies are learnt from, at most")
    model: ModelName = Field(AUTO, description=MODEL)


@dataclass(frozen=True, eq=False)
class ImageEncoder(Encoder):
    """Each channel of a row sums to 1; a picture without any gradient has an empty channel of them.

    A pretrained model has the last channel.
    """

    options: ImageOptions
    words: Floats  # n x 128, centres of descriptors
    colours: Floats  # n x 3
    pretrained: Pretrained | None = None

    kind: ClassVar = "image"
    options_type: ClassVar = ImageOptions

    @classmethod
    def fit(cls, raws: Sequence[Raw], options: ImageOptions, seed: int, on_step: Step) -> Self:
        """Cluster descriptors and colours of a sample of the pool."""
        if not (options.word_grids or options.gradient_grids or options.texture_grids or options.colour_grids):
            names = "word_grids, gradient_grids, texture_grids and colour_grids"
            raise ValueError(f"at least one of {names} must name a grid")
        model = chosen(options.model, "image")
        pretrained = None if model is None else Pretrained.of(model, "image")
        options = options.model_copy(update={"model": model})
        order = np.random.default_rng(seed).permutation(len(raws))
        sample = [(raws[place], seed + int(place)) for place in np.sort(order[: options.sample])]
        found: dict[int, tuple[Floats, Floats]] = {}
        done = 0
        for first, portion in in_portions(partial(_points_of, options), sample, processes_for(len(sample)), _nothing):
            found |= {first + i: points for i, points in enumerate(portion) if points is not None}
            done += len(portion)
            on_step(done)
        if not found:
            raise ValueError(f"none of the {len(sample)} files that were tried is a picture")
        points = [found[place] for place in sorted(found)]
        words, colours = (np.concatenate(part) for part in zip(*points, strict=True))
        centres = _centres(words, options.words, seed), _centres(colours, options.colours, seed)
        return cls(options, *centres, pretrained)

    @classmethod
    def of_arrays(cls, options: ImageOptions, arrays: Arrays) -> Self:
        """Both vocabularies."""
        return cls(options, arrays["words"], arrays["colours"], Pretrained.of_arrays(options.model, arrays))

    @classmethod
    def old_options(cls, options: dict[str, Any]) -> dict[str, Any]:
        """Options of an encoder that was stored before there were textures and models."""
        return {"texture_grids": (), "model": None} | options

    @property
    def channels(self) -> tuple[Channel, ...]:
        """Grids of words, of gradients, of textures, of colours, then the embedding."""
        counted = tuple(
            Channel(f"{name} {grid}x{grid}", grid * grid * size)
            for name, size, grids in self._vocabularies()
            for grid in grids
        )
        return counted + (() if self.pretrained is None else (self.pretrained.channel,))

    @property
    def needs_model(self) -> bool:
        """With an embedding."""
        return self.pretrained is not None

    def encode(self, raws: Sequence[Raw], on_step: Step = silent) -> Encoded:
        """A sparse row for each picture, by as many processes as there are cores."""
        return self.encode_with(processes_for(len(raws)), raws, on_step)

    def encode_with(self, processes: int, raws: Sequence[Raw], on_step: Step = silent) -> Encoded:
        """Encode by so many processes; the rows do not depend on how many."""
        if self.pretrained is None:
            return self._histograms(processes, raws, on_step)
        n = len(raws)
        counted = self._histograms(processes, raws, lambda done: on_step(done // 2))
        pictures = [raws[place] for place in counted.good]
        vectors = self.pretrained.embed(pictures, self._picture, lambda done: on_step((n + done) // 2))
        return replace(counted, table=sp.hstack([counted.table, vectors], format="csr"))

    def _histograms(self, processes: int, raws: Sequence[Raw], on_step: Step) -> Encoded:
        """What is counted of each picture."""
        results: list[Any] = [None] * len(raws)
        done = 0
        lost = partial(str, "damaged: it cannot be read")
        for first, portion in in_portions(self.rows, raws, processes, lost):
            results[first : first + len(portion)] = portion
            done += len(portion)
            on_step(done)
        broken = {place: result for place, result in enumerate(results) if isinstance(result, str)}
        good = [place for place in range(len(raws)) if place not in broken]
        columns = sum(grid * grid * size for _, size, grids in self._vocabularies() for grid in grids)
        empty = sp.csr_matrix((0, columns))
        return Encoded(sp.vstack([empty, *(results[place] for place in good)], format="csr"), good, broken)

    def _picture(self, raw: Raw) -> Any:
        """A picture as models read it."""
        assert isinstance(raw, Path)
        return read_picture(raw, self.options.size, MIN_SIZE)

    def rows(self, raws: Sequence[Raw]) -> list[Any]:
        """A CSR row for each picture, or the reason why there is none."""
        return [self._row(raw) for raw in raws]

    def _row(self, raw: Raw) -> Any:
        try:
            picture = _read(raw, self.options)
        except BrokenPictureError as error:
            return str(error)
        cells = local.gradient_cells(picture[..., 0])
        windows, window_places = local.descriptors(cells)
        colours, colour_places = local.colour_cells(picture)
        found: dict[str, tuple[Indices, Floats, Floats | None]] = {
            "words": (local.nearest(windows, self.words), window_places, None),
            "gradients": (*local.orientations(cells), cells.ravel()),
            "textures": local.textures(picture[..., 0]),
            "colours": (local.nearest(colours, self.colours), colour_places, None),
        }
        parts = []
        for name, size, grids in self._vocabularies():
            words, places, weights = found[name]
            parts += [local.histogram(words, places, size, grid, weights) for grid in grids]
        return sp.csr_matrix(np.concatenate(parts)[None])

    def _vocabularies(self) -> list[tuple[str, int, Grids]]:
        """Name, number of words and grids of what is counted."""
        options = self.options
        return [
            ("words", len(self.words), options.word_grids),
            ("gradients", local.ORIENTATIONS, options.gradient_grids),
            ("textures", 2 * local.PATTERNS, options.texture_grids),
            ("colours", len(self.colours), options.colour_grids),
        ]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Both vocabularies."""
        own = {"words": self.words, "colours": self.colours}
        return own | ({} if self.pretrained is None else self.pretrained.arrays())

    def model(self) -> dict[str, Any]:
        """One kernel with a weight for each channel, or a sum where a model has one of them."""
        if self.pretrained is None:
            return {}
        kernels = self.kernels()
        return {"kernel": [*kernels[:-1], kernels[-1] | KERNEL]}

    def describe(self) -> dict[str, Any]:
        """The description, with the checksum of the model."""
        return super().describe() | ({} if self.pretrained is None else {"checksum": self.pretrained.checksum})


def _nothing() -> None:
    """What is learnt from a file that ends its process."""


def _read(raw: Raw, options: ImageOptions) -> NDArray[np.uint8]:
    if not isinstance(raw, Path):
        raise BrokenPictureError(f"expected the file of a picture, got {type(raw).__name__}")
    return luma_and_colour(read_picture(raw, options.size, MIN_SIZE))


def _points_of(options: ImageOptions, sample: Sequence[tuple[Raw, int]]) -> list[tuple[Floats, Floats] | None]:
    """Some descriptors and colours of each picture, drawn by its own seed; None where it is broken."""
    return [_points(options, raw, seed) for raw, seed in sample]


def _points(options: ImageOptions, raw: Raw, seed: int) -> tuple[Floats, Floats] | None:
    try:
        picture = _read(raw, options)
    except BrokenPictureError:
        return None
    rng = np.random.default_rng(seed)
    words, _ = local.descriptors(local.gradient_cells(picture[..., 0]))
    colours, _ = local.colour_cells(picture)
    return words[rng.permutation(len(words))[:POINTS]], colours[rng.permutation(len(colours))[:POINTS]]


def _centres(points: Floats, size: int, seed: int) -> Floats:
    """At most so many cluster centres; all points where they are no more."""
    from sklearn.cluster import MiniBatchKMeans

    points = np.unique(points, axis=0)
    if len(points) <= size:
        return points
    clustering = MiniBatchKMeans(size, batch_size=4096, n_init=1, max_iter=30, random_state=seed)
    return np.asarray(clustering.fit(points).cluster_centers_, dtype=np.float64)
