"""What every encoder is: fitted on a pool, then it turns raw items into rows of numbers, always the same ones."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from app.encoders import archive
from core import Channel as KernelChannel
from core._types import Floats, Table

Kind = Literal["text", "image", "table", "vectors", "sets"]
Raw = str | Path | Mapping[str, str] | Floats
"""A text, the file of an image, the cells of a row by column, a vector, or a set of vectors (2-d)."""
Step = Callable[[int], object]
"""Is told how many raw items are done."""
Arrays = Mapping[str, NDArray[Any]]


def silent(done: int) -> None:
    """The step callback that does nothing."""


@dataclass(frozen=True)
class Channel:
    """Consecutive columns of the table that share a kernel weight."""

    name: str
    columns: int


@dataclass(frozen=True, eq=False)
class Encoded:
    """Rows of the items that could be read, in their order, and why the others could not."""

    table: Table
    good: list[int]
    broken: dict[int, str]


class Options(BaseModel):
    """What a user may choose for an encoder; other names are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def kernel_channels(channels: Sequence[Mapping[str, Any]]) -> tuple[KernelChannel, ...]:
    """The channels of a sum of kernels, from JSON."""
    return tuple(KernelChannel(**{**channel, "columns": tuple(channel["columns"])}) for channel in channels)


class Encoder(ABC):
    """An encoder that has been fitted; it does not change any more."""

    kind: ClassVar[Kind]
    options_type: ClassVar[type[Options]]
    options: Any  # of type options_type

    @classmethod
    @abstractmethod
    def fit(cls, raws: Sequence[Raw], options: Any, seed: int, on_step: Step) -> Self:
        """Learn from a pool; a ValueError where there is nothing to learn from."""

    @classmethod
    @abstractmethod
    def of_arrays(cls, options: Any, arrays: Arrays) -> Self:
        """The encoder that `arrays` told about."""

    @property
    @abstractmethod
    def channels(self) -> tuple[Channel, ...]:
        """The parts of the table, from its first column on."""

    @abstractmethod
    def encode(self, raws: Sequence[Raw], on_step: Step = silent) -> Encoded:
        """Rows of these items; what cannot be read is listed, never fatal."""

    @abstractmethod
    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that was learnt."""

    @property
    def needs_model(self) -> bool:
        """Whether it embeds by a pretrained model, which takes seconds to load and much memory."""
        return False

    @property
    def reads_columns(self) -> bool:
        """Whether an item may be a row of cells."""
        return False

    def names(self) -> list[str] | None:
        """The names of all columns, where they mean something to people."""
        return None

    def model(self) -> dict[str, Any]:
        """The model settings that suit such rows, for JSON, by the names of `core.Settings`.

        `bias_of_two` is the bias where there are only two classes.
        """
        return {}

    def settings(self) -> dict[str, Any]:
        """The same as arguments of `core.Settings` or an estimator; channels of one kernel have a weight each."""
        model = {name: value for name, value in self.model().items() if name != "bias_of_two"}
        if "kernel" in model:
            return model | {"kernel": kernel_channels(model["kernel"])}
        sizes = [channel.columns for channel in self.channels]
        return {"groups": np.repeat(np.arange(len(sizes)), sizes), "tune_weights": len(sizes) > 1, **model}

    def kernels(self, **options: Any) -> list[dict[str, Any]]:
        """A kernel for each channel, with these options of `core.Channel`."""
        ends = np.cumsum([0, *(channel.columns for channel in self.channels)]).tolist()
        return [{"columns": [first, last], **options} for first, last in pairwise(ends)]

    @classmethod
    def old_options(cls, options: dict[str, Any]) -> dict[str, Any]:
        """Stored options, with those that came later as they were before."""
        return options

    def describe(self) -> dict[str, Any]:
        """A description for JSON: what was chosen and how large it became."""
        return {
            "options": self.options.model_dump(),
            "columns": sum(channel.columns for channel in self.channels),
            "channels": [{"name": channel.name, "columns": channel.columns} for channel in self.channels],
        }

    def state(self) -> bytes:
        """All of the encoder, for `restore`: an npz file without pickles, the same bytes for the same encoder."""
        return archive.pack({"kind": self.kind, "options": self.options.model_dump()}, self.arrays())
