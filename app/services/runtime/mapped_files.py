"""Large arrays in files that are mapped into memory: a pool may be larger than it."""

import os
import struct
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

LOCAL_HEADER = 30  # bytes before the name of a member of a zip; the last four tell how long that and what follows are
PIECE = 1 << 20


@dataclass(frozen=True)
class LargeArrays:
    """Arrays of `least` bytes or more are in files; those that are made here have no names, and go with their users."""

    folder: Path
    least: int

    def allocate(self, size: int, kind: Any) -> NDArray[Any]:
        """An array of so many entries, whatever they hold."""
        n_bytes = size * np.dtype(kind).itemsize
        if n_bytes < self.least:
            return np.empty(size, dtype=kind)
        self.folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=self.folder) as file:
            if hasattr(os, "posix_fallocate"):  # an error now: a full disk that is found out later ends the process
                os.posix_fallocate(file.fileno(), 0, n_bytes)
            return np.memmap(file, dtype=kind, mode="w+", shape=size)

    def read(self, path: Path) -> dict[str, NDArray[Any]]:
        """What `numpy.savez` wrote, all of it compared with its checksums; large arrays are mapped, not read."""
        arrays = {}
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                with archive.open(member) as file:
                    if member.file_size < self.least:
                        array = np.lib.format.read_array(file, allow_pickle=False)
                    else:
                        while file.read(PIECE):
                            pass
                        array = _mapped(path, member.header_offset)
                arrays[member.filename.removesuffix(".npy")] = array
        return arrays


def _mapped(path: Path, header: int) -> NDArray[Any]:
    """An array that is stored as it is; changes stay in memory."""
    with path.open("rb") as file:
        file.seek(header + LOCAL_HEADER - 4)
        file.seek(sum(struct.unpack("<HH", file.read(4))), os.SEEK_CUR)
        assert np.lib.format.read_magic(file) == (1, 0)
        shape, fortran, kind = np.lib.format.read_array_header_1_0(file)
        return np.memmap(file, kind, "c", file.tell(), shape, "F" if fortran else "C")
