"""Zip files, and the arrays in npz files: opened within budgets, and read from front to back."""

import math
import os
import struct
import tempfile
import tokenize
import zipfile
import zlib
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from app.services.budgets import Budgets
from app.services.problems import Invalid
from app.services.runtime.checks import Check

MAX_DIRECTORY_BYTES = 48 * 2**20  # bytes of the list of entries, names and all
PIECE = 1 << 20
UNREADABLE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError, ValueError)
NPZ = "an npz file of plain arrays"
NOT_NPZ = (*UNREADABLE, TypeError, SyntaxError, KeyError, MemoryError, tokenize.TokenError)
_ENTRY = struct.Struct("<4s24xHHH12x")  # of the directory: signature, lengths of name, extra field and comment


def open_zip(
    path: Path, budgets: Budgets, check: Check, expected: str = "a zip file that can be read"
) -> zipfile.ZipFile:
    """An archive whose directory fits into memory and whose entries do not expand too much."""
    try:
        _check_directory(path, budgets, check)
        archive = zipfile.ZipFile(path)
    except UNREADABLE as error:
        raise Invalid(f"not {expected}") from error
    try:
        budgets.check_expanded(sum(entry.file_size for entry in archive.infolist()), path.stat().st_size)
    except Invalid:
        archive.close()
        raise
    return archive


def _check_directory(path: Path, budgets: Budgets, check: Check) -> None:
    """Go through the entries without keeping them: `ZipFile` makes objects of all of them at once."""
    with path.open("rb") as file:
        end = zipfile._EndRecData(file)  # type: ignore[attr-defined] # the module has no other door to it
        if end is None:
            return
        size = end[zipfile._ECD_SIZE]  # type: ignore[attr-defined]
        if size > MAX_DIRECTORY_BYTES:
            raise Invalid(f"the directory of an archive may have {MAX_DIRECTORY_BYTES} bytes, not {size}")
        before = end[zipfile._ECD_LOCATION] - size  # type: ignore[attr-defined]
        if end[zipfile._ECD_SIGNATURE] == zipfile.stringEndArchive64:  # type: ignore[attr-defined]
            before -= zipfile.sizeEndCentDir64 + zipfile.sizeEndCentDir64Locator  # type: ignore[attr-defined]
        file.seek(max(before, 0))
        directory = memoryview(file.read(size))
    place = count = 0
    while place + _ENTRY.size <= len(directory):
        signature, *lengths = _ENTRY.unpack_from(directory, place)
        if signature != zipfile.stringCentralDir:  # type: ignore[attr-defined]
            break
        place += _ENTRY.size + sum(lengths)
        count += 1
        if count > budgets.entries:
            raise Invalid(f"an archive may have {budgets.entries} entries (ASKNEXT_MAX_ENTRIES)")
        if count % 1000 == 0:
            check()


class StoredArray:
    """An array of an npz file; its header is read at once, its rows when they are asked for."""

    def __init__(self, archive: zipfile.ZipFile, name: str) -> None:
        self._file: IO[bytes] = archive.open(f"{name}.npy")
        if np.lib.format.read_magic(self._file) != (1, 0):  # headers of later ones may be of any length
            raise ValueError("not a plain array")
        self.shape, self._by_columns, self.dtype = np.lib.format.read_array_header_1_0(self._file)
        if self.dtype.hasobject or min(self.shape, default=0) < 0:
            raise ValueError("not a plain array")
        self._by_columns = self._by_columns and len(self.shape) > 1
        self._unpacked: IO[bytes] | None = None
        self._row = 0

    @property
    def size(self) -> int:
        """Bytes of the whole array."""
        return math.prod(self.shape) * int(self.dtype.itemsize)

    def close(self) -> None:
        """Let the file go."""
        self._file.close()
        if self._unpacked is not None:
            self._unpacked.close()

    def read(self, rows: int) -> NDArray[Any]:
        """The next rows; fewer at the end."""
        rows = min(rows, self.shape[0] - self._row)
        shape = (rows, *self.shape[1:])
        if self._by_columns:
            array = self._columns(shape)
        else:
            array = np.frombuffer(self._bytes(math.prod(shape) * self.dtype.itemsize), self.dtype).reshape(shape)
        self._row += rows
        return array

    def whole(self) -> NDArray[Any]:
        """The whole array, in whatever order it is stored."""
        return np.frombuffer(self._bytes(self.size), self.dtype).reshape(
            self.shape, order="F" if self._by_columns else "C"
        )

    def unpack(self, folder: Path, check: Check) -> None:
        """An array that is stored column by column is put into a file: its rows are all over it."""
        if not self._by_columns:
            return
        self._unpacked = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - closed with the array
        while piece := self._file.read(PIECE):
            check()
            self._unpacked.write(piece)
        self._unpacked.flush()
        if self._unpacked.tell() < self.size:
            raise EOFError("the array ends too early")

    def _bytes(self, n: int) -> bytes:
        found = self._file.read(n)
        if len(found) < n:
            raise EOFError("the array ends too early")
        return found

    def _columns(self, shape: tuple[int, ...]) -> NDArray[Any]:
        """The same rows of every column."""
        assert self._unpacked is not None, "unpack it first"
        width = math.prod(shape[1:])
        array = np.empty((width, shape[0]), dtype=self.dtype)
        for column in range(width):
            start = (column * self.shape[0] + self._row) * self.dtype.itemsize
            array[column] = np.frombuffer(os.pread(self._unpacked.fileno(), array[column].nbytes, start), self.dtype)
        return array.T.reshape(shape, order="F")
