"""Pretrained models of sentence-transformers: texts or pictures as vectors of length 1."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from pydantic import Field

from app.encoders import archive
from app.encoders.contract import Arrays, Channel, Raw, Step
from app.encoders.processes import cores
from core._types import Floats

AUTO = "auto"
MODEL = (
    "a pretrained model of sentence-transformers: a folder, or a name in the local cache; auto takes the usual one "
    "if it is at hand, null none"
)
KERNEL = {"kernel": "linear"}  # of the vectors, as options of core.Channel
USUAL = {
    "text": "sentence-transformers/all-MiniLM-L6-v2",
    "image": "sentence-transformers/clip-ViT-B-32",
}
"""The models that are taken by themselves where they are in the local cache."""
ORGANISATION = "sentence-transformers"  # of names that tell none, as sentence-transformers has it
BATCH = 32
MAX_TOKENS = 512  # of a text: what attention costs grows with their square
CHARACTERS = 20  # a token has on average at most; what comes later would be cut off anyway
CONFIGURATION = ("*.json", "*.txt", "*.model")
WEIGHTS = ("*.safetensors", "*.bin")  # the first kind that is there
OTHER_ENGINES = {"onnx", "openvino"}  # folders of the same weights

Modality = Literal["text", "image"]
ModelName = Annotated[str, Field(min_length=1, max_length=1000)] | None
Read = Callable[[Raw], Any]
"""Makes what the model reads of a raw item."""


def is_installed() -> bool:
    """Whether the extra is there; nothing is imported."""
    return find_spec("sentence_transformers") is not None


def check_installed(model: str) -> None:
    """Raise a ValueError with the command that is missing."""
    if not is_installed():
        raise ValueError(
            f"the model {model!r} needs sentence-transformers: pip install 'asknext[embeddings]', "
            "or set model to null to do without"
        )


def chosen(model: str | None, modality: Modality) -> str | None:
    """The model that somebody named, or the usual one where it is at hand.

    >>> chosen(None, "text"), chosen("models/own", "text")
    (None, 'models/own')
    """
    if model != AUTO:
        return model
    usual = USUAL[modality]
    return usual if is_installed() and _cached(usual) is not None else None


@dataclass(frozen=True)
class Pretrained:
    """A model by its name, and by a checksum of its files: these alone give the same vectors."""

    name: str  # a folder, or a name on the Hugging Face hub
    checksum: str
    columns: int

    @classmethod
    def of(cls, name: str, modality: Modality) -> Self:
        """The model as it is now; a ValueError where it is not there, or reads other things."""
        check_installed(name)
        folder = _folder(name)
        sample = "text" if modality == "text" else Image.new("RGB", (64, 64))
        try:
            checksum = _checksum(folder)
            columns = _vectors(_loaded(folder, checksum), [sample]).shape[1]
        except Exception as error:
            what = "texts" if modality == "text" else "pictures"
            raise ValueError(f"the model {name!r} gives no vectors of {what}: {_first_line(error)}") from error
        return cls(name, checksum, columns)

    @classmethod
    def of_arrays(cls, name: str | None, arrays: Arrays) -> Self | None:
        """The model that `arrays` told about; it is loaded when it is needed."""
        if name is None:
            return None
        (checksum,) = archive.texts_of_bytes(arrays["model"])
        return cls(name, checksum, int(arrays["model_columns"]))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All but the name, which is an option."""
        return {"model": archive.texts_to_bytes([self.checksum]), "model_columns": np.array(self.columns)}

    @property
    def channel(self) -> Channel:
        """The columns of the vectors."""
        return Channel("embedding", self.columns)

    def column_names(self) -> list[str]:
        """One name for all: a number of a vector means nothing by itself."""
        return [f"embedding ({Path(self.name).name})"] * self.columns

    def embed(self, raws: Sequence[Raw], read: Read, on_step: Step) -> Floats:
        """A vector for each, n x columns. Rows differ in their last digits with what is in the same batch.

        The model is loaded even where there is nothing to read: so one finds out that it is there.
        """
        model = self._model()
        vectors = np.empty((len(raws), self.columns))
        # Texts of about one length share a batch, longest first: memory is short at once or never.
        order = np.argsort([-len(raw) if isinstance(raw, str) else 0 for raw in raws], kind="stable")
        for first in range(0, len(raws), BATCH):
            places = order[first : first + BATCH]
            vectors[places] = _vectors(model, [read(raws[place]) for place in places])
            on_step(min(first + BATCH, len(raws)))
        if not np.isfinite(vectors).all():
            raise ValueError(f"the model {self.name!r} gives numbers that are not finite")
        return vectors

    def _model(self) -> Any:
        """The loaded model, if its files are still the same."""
        check_installed(self.name)
        folder = _folder(self.name)
        found = _checksum(folder)
        if found != self.checksum:
            raise ValueError(
                f"expected the model {self.name!r} with the checksum {self.checksum[:12]}, which this project was made "
                f"with, but the files in {folder} have the checksum {found[:12]}: put the same files there again, or "
                "make another project"
            )
        return _loaded(folder, found)


def cut(text: Any) -> str:
    """As much of a text as a model may read: a long one costs no more.

    >>> len(cut("word " * 10_000))
    10240
    """
    return str(text[: MAX_TOKENS * CHARACTERS])


def _vectors(model: Any, inputs: Sequence[Any]) -> Floats:
    found = model.encode(inputs, batch_size=BATCH, normalize_embeddings=True, show_progress_bar=False)
    return np.asarray(found, dtype=np.float64)


def _folder(name: str) -> Path:
    """Where the files of a model are; downloaded only where HF_HUB_OFFLINE does not forbid it."""
    folder = Path(name)
    found = folder.resolve() if folder.is_dir() else _cached(name) or _downloaded(name)
    if found is None:
        from huggingface_hub.constants import HF_HUB_CACHE

        raise ValueError(
            f"the model {name!r} is neither a folder nor in the local cache, {HF_HUB_CACHE}; "
            "with ASKNEXT_MODEL_DOWNLOADS=true the service may download it"
        )
    return found


def _cached(name: str) -> Path | None:
    """The folder of a name in the local cache of Hugging Face."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    repository = name if "/" in name else f"{ORGANISATION}/{name}"
    try:
        return Path(snapshot_download(repository, local_files_only=True))
    except (HFValidationError, LocalEntryNotFoundError):
        return None


def _downloaded(name: str) -> Path | None:
    """The same, after sentence-transformers has fetched the files that it needs."""
    from huggingface_hub.constants import HF_HUB_OFFLINE

    if HF_HUB_OFFLINE:
        return None
    from sentence_transformers import SentenceTransformer

    try:
        SentenceTransformer(name)
    except Exception as error:
        raise ValueError(f"the model {name!r} could not be downloaded: {_first_line(error)}") from error
    return _cached(name)


@lru_cache(maxsize=1)
def _loaded(folder: Path, _: str) -> Any:
    """The model with this checksum; nothing but its folder is read."""
    import torch
    from sentence_transformers import SentenceTransformer
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()  # on the screen of the service
    torch.set_num_threads(max(1, cores() // 2))  # the others are for people who wait for an answer
    model = SentenceTransformer(str(folder), local_files_only=True)
    if model.max_seq_length is not None:
        model.max_seq_length = min(model.max_seq_length, MAX_TOKENS)
    return model


def _checksum(folder: Path) -> str:
    """Of names and contents of all files that vectors depend on."""
    weights = next((found for kind in WEIGHTS if (found := _files(folder, kind))), [])
    names = {name for pattern in CONFIGURATION for name in _files(folder, pattern)}
    stats = {name: (folder / name).stat() for name in sorted({*names, *weights})}
    return _digest(folder, tuple((name, stat.st_size, stat.st_mtime_ns) for name, stat in stats.items()))


@lru_cache(maxsize=4)
def _digest(folder: Path, files: tuple[tuple[str, int, int], ...]) -> str:
    """Of files with their sizes and times: as long as these are the same, nothing is read again."""
    total = hashlib.sha256()
    for name, _, _ in files:
        with (folder / name).open("rb") as file:
            total.update(f"{name} {hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return total.hexdigest()


def _files(folder: Path, pattern: str) -> list[str]:
    """Of this pattern, by their paths below the folder."""
    found = (path.relative_to(folder) for path in folder.rglob(pattern) if path.is_file())
    return [path.as_posix() for path in found if path.parts[0] not in OTHER_ENGINES]


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0][:300]
