"""Vectors from any network: dense for RBF and linear kernels, or split by sign for histogram kernels."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from app.encoders.contract import Arrays, Channel, Encoded, Encoder, Options, Raw, Step, silent
from core._types import Floats
from core.histograms import split_signs

UNLIKE = 10.0  # times the median spread, from which on columns are not of one kind


class VectorOptions(Options):
    """What is done with the numbers."""

    form: Literal["dense", "split"] = Field(
        "dense", description="as they are, or positive and negative parts in columns of their own, for kernel hik"
    )
    scale: Literal["auto", "columns", "none"] = Field(
        "auto", description="columns are divided by their spread: always, never, or where spreads are very different"
    )


@dataclass(frozen=True, eq=False)
class VectorEncoder(Encoder):
    """Nothing is moved, so that zeros stay zeros."""

    options: VectorOptions
    spreads: Floats  # D

    kind: ClassVar = "vectors"
    options_type: ClassVar = VectorOptions

    @classmethod
    def fit(cls, raws: Sequence[Raw], options: VectorOptions, seed: int, on_step: Step) -> Self:  # noqa: ARG003
        """The length of the first vector is that of all."""
        first = next((np.asarray(raw) for raw in raws if _reason(raw, None) is None), None)
        if first is None:
            raise ValueError(f"none of the {len(raws)} items is a vector of finite numbers")
        vectors = np.array([raw for raw in raws if _reason(raw, len(first)) is None], dtype=np.float64)
        on_step(len(raws))
        spreads = vectors.std(axis=0)
        spreads[spreads == 0.0] = 1.0
        unlike = spreads.max() > UNLIKE * np.median(spreads) or spreads.min() * UNLIKE < np.median(spreads)
        if options.scale == "none" or (options.scale == "auto" and not unlike):
            spreads = np.ones(len(first))
        return cls(options, spreads)

    @classmethod
    def of_arrays(cls, options: VectorOptions, arrays: Arrays) -> Self:
        """The spreads."""
        return cls(options, arrays["spreads"])

    @property
    def channels(self) -> tuple[Channel, ...]:
        """One channel of all columns."""
        return (Channel("vector", len(self.spreads) * (2 if self.options.form == "split" else 1)),)

    def encode(self, raws: Sequence[Raw], on_step: Step = silent) -> Encoded:
        """A dense row for each vector."""
        broken = {place: reason for place, raw in enumerate(raws) if (reason := _reason(raw, len(self.spreads)))}
        good = [place for place in range(len(raws)) if place not in broken]
        vectors = np.array([raws[place] for place in good], dtype=np.float64).reshape(len(good), len(self.spreads))
        vectors = vectors / self.spreads
        if self.options.form == "split":
            vectors = split_signs(vectors)
        on_step(len(raws))
        return Encoded(vectors, good, broken)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The spreads."""
        return {"spreads": self.spreads}

    def describe(self) -> dict[str, Any]:
        """The description, with whether columns are scaled."""
        return {**super().describe(), "scaled": bool((self.spreads != 1.0).any())}


def _reason(raw: Raw, length: int | None) -> str | None:
    """Why this is not a vector of that length."""
    numbers = np.asarray(raw) if not isinstance(raw, str) else np.empty(0)
    if numbers.ndim != 1 or numbers.dtype.kind not in "fiu" or not len(numbers):
        return "expected a list of numbers"
    if length is not None and len(numbers) != length:
        return f"expected {length} numbers, got {len(numbers)}"
    return None if np.isfinite(numbers).all() else "every number must be finite"
