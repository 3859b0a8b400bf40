"""What every encoder is: fitted on a pool, then it turns raw items into rows of numbers, always the same ones."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from app.encoders import archive
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

    def names(self) -> list[str] | None:
        """The names of all columns, where they mean something to people."""
        return None

    def settings(self) -> dict[str, Any]:
        """What the learner needs to know of such rows, by the names of `core.Settings`."""
        sizes = [channel.columns for channel in self.channels]
        return {"groups": np.repeat(np.arange(len(sizes)), sizes), "tune_weights": len(sizes) > 1}

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
