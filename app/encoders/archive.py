"""Arrays and a JSON header as npz bytes, without pickles."""

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

FORMAT = 1
HEADER = "header"


def pack(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """One npz file.

    >>> unpack(pack({"kind": "text"}, {"counts": np.arange(3)}))[0]
    {'kind': 'text'}
    """
    if HEADER in arrays or any(array.dtype.hasobject for array in arrays.values()):
        raise ValueError(f"arrays hold plain numbers, and none is called {HEADER!r}")
    file = io.BytesIO()
    head = np.frombuffer(json.dumps({"format": FORMAT, **header}, sort_keys=True).encode(), dtype=np.uint8)
    np.savez_compressed(file, **{HEADER: head, **arrays})  # type: ignore[arg-type]
    return file.getvalue()


def unpack(packed: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Header and arrays; a ValueError for what `pack` has not made."""
    try:
        with np.load(io.BytesIO(packed), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        header = json.loads(arrays.pop(HEADER).tobytes())
        version = header.pop("format")
    except (ValueError, KeyError, TypeError, AttributeError, EOFError, OSError, zipfile.BadZipFile) as error:
        raise ValueError("not the state of an encoder") from error
    if version != FORMAT:
        raise ValueError(f"the state has format {version!r}; this program reads format {FORMAT}")
    return header, arrays


def texts_to_bytes(texts: Sequence[str]) -> NDArray[np.uint8]:
    """Any texts as numbers, NULs and all."""
    return np.frombuffer(json.dumps(list(texts)).encode(), dtype=np.uint8)


def texts_of_bytes(packed: NDArray[np.uint8]) -> list[str]:
    """The texts again.

    >>> texts_of_bytes(texts_to_bytes(["a", "\\0"]))
    ['a', '\\x00']
    """
    texts: list[str] = json.loads(packed.tobytes())
    return texts
