"""The table of an npz file, dense or CSR, read some rows at a time."""

import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from app.services.budgets import Budgets
from app.services.imports.portions import PORTION_BYTES
from app.services.imports.zips import NOT_NPZ, NPZ, StoredArray, open_zip
from app.services.problems import Invalid
from app.services.runtime.checks import Check

CSR_NAMES = {"data", "indices", "indptr", "shape"}
LONGEST_CELL = 2**16  # bytes of a key or label, which all of them take
MAX_ROW_ENTRIES = 2**20  # entries of CSR rows, which may name a column twice


@dataclass(frozen=True)
class Block:
    """Consecutive rows of the table, with their keys and labels."""

    x: Any  # dense or CSR
    keys: NDArray[Any] | None
    labels: NDArray[Any] | None


class NpzTable:
    """X, or a CSR matrix as scipy saves it; keys and y beside it. Shapes are checked before anything else is read."""

    def __init__(self, path: Path, budgets: Budgets, check: Check) -> None:
        self._path, self._check = path, check
        self._open = ExitStack()
        try:
            with plain_arrays():
                self._archive = self._open.enter_context(open_zip(path, budgets, check, NPZ))
                self._names = array_names(self._archive)
                self._find_table()
            budgets.check_columns(self.shape[1])
            budgets.check_items(self.shape[0])
            with plain_arrays():
                self._beside = {name: self._column(name) for name in ("keys", "y") if name in self._names}
                if self._x is not None:
                    self._x.unpack(path.parent, check)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let the file go."""
        self._open.close()

    def blocks(self, rows: int) -> Iterator[Block]:
        """So many rows at a time, or fewer where they are long."""
        widest = max(self.shape[1] if self._x is not None else 1, *(a.dtype.itemsize for a in self._beside.values()), 1)
        rows = max(1, min(rows, PORTION_BYTES // widest))
        for x in self._dense(rows) if self._x is not None else self._sparse(rows):
            with plain_arrays():
                beside = {name: array.read(x.shape[0]) for name, array in self._beside.items()}
            yield Block(x, beside.get("keys"), beside.get("y"))

    def _find_table(self) -> None:
        self._x: StoredArray | None = None
        if self._names >= CSR_NAMES:
            self._find_csr()
            return
        x = self._array("X") if "X" in self._names else None
        if x is None or len(x.shape) != 2 or x.dtype.kind not in "fiub" or 0 in x.shape:
            raise Invalid(
                "expected an array X of numbers with two dimensions, or a CSR matrix saved by scipy.sparse.save_npz"
            )
        self._x, self.shape = x, (x.shape[0], x.shape[1])

    def _find_csr(self) -> None:
        self._data, self._indices, self._indptr = (self._array(name) for name in ("data", "indices", "indptr"))
        declared = self._array("shape")
        if declared.shape != (2,) or declared.dtype.kind not in "iu":
            raise _not_csr()
        n, columns = (int(length) for length in declared.read(2))
        kinds = self._data.dtype.kind in "fiub" and self._indices.dtype.kind in "iu" and self._indptr.dtype.kind in "iu"
        fits = self._indptr.shape == (n + 1,) and len(self._data.shape) == 1 and self._data.shape == self._indices.shape
        if min(n, columns) < 0 or not kinds or not fits:
            raise _not_csr()
        self.shape = n, columns

    def _array(self, name: str) -> StoredArray:
        return self._open.enter_context(closing(StoredArray(self._archive, name)))

    def _column(self, name: str) -> StoredArray:
        array, n = self._array(name), self.shape[0]
        if array.shape != (n,):
            raise Invalid(f"{name} must have {n} entries, one for each row of X")
        if array.dtype.itemsize > LONGEST_CELL:
            raise Invalid(f"{name} must be numbers or short texts")
        return array

    def _dense(self, rows: int) -> Iterator[NDArray[Any]]:
        assert self._x is not None
        for _ in range(0, self.shape[0], rows):
            self._check()
            with plain_arrays():
                x = self._x.read(rows).astype(np.float64)
            yield x

    def _sparse(self, rows: int) -> Iterator[Any]:
        """Rows by their places in `data` and `indices`; a long row comes alone."""
        with plain_arrays():
            place = int(self._indptr.read(1)[0])
        if place != 0:
            raise _not_csr()
        for _ in range(0, self.shape[0], rows):
            with plain_arrays():
                ends = self._indptr.read(rows).astype(np.int64)
            starts = np.concatenate([[place], ends[:-1]])
            lengths = ends - starts
            if (
                lengths.min() < 0
                or ends[-1] > self._data.shape[0]
                or lengths.max() > max(self.shape[1], MAX_ROW_ENTRIES)
            ):
                raise _not_csr()
            first = 0
            while first < len(ends):
                self._check()
                last = max(first + 1, int(np.searchsorted(ends, starts[first] + PORTION_BYTES // 16, "right")))
                yield self._csr(np.concatenate([starts[first : first + 1], ends[first:last]]))
                first = last
            place = int(ends[-1])

    def _csr(self, indptr: NDArray[np.int64]) -> Any:
        n = int(indptr[-1] - indptr[0])
        with plain_arrays():
            data, indices = self._data.read(n).astype(np.float64), self._indices.read(n).astype(np.int64)
        if n and (indices.min() < 0 or indices.max() >= self.shape[1]):
            raise _not_csr()
        x = sp.csr_matrix((data, indices, indptr - indptr[0]), shape=(len(indptr) - 1, self.shape[1]))
        x.sum_duplicates()
        return x


def array_names(archive: zipfile.ZipFile) -> set[str]:
    """The names of the arrays in an npz file."""
    return {name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")}


@contextmanager
def plain_arrays() -> Iterator[None]:
    """Whatever is wrong with a file is told in the same words."""
    try:
        yield
    except NOT_NPZ as error:
        raise Invalid(f"not {NPZ}") from error


def _not_csr() -> Invalid:
    return Invalid("data, indices, indptr and shape do not make a CSR matrix")
