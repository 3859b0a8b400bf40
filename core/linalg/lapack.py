"""LAPACK and BLAS on the leading part of a larger buffer, without the GIL.

scipy's own wrappers copy such a part and hold the GIL for as long as a factorisation takes. These are the same
routines, called through the addresses that scipy publishes for other compilers.
"""

import ctypes
from ctypes import POINTER, byref, c_char, c_double, c_int
from typing import Any

import numpy as np
from numba.extending import get_cython_function_address

from core._blas import blas_threads
from core._types import Floats

_DOUBLES = POINTER(c_double)


def _routine(module: str, name: str, *kinds: str) -> Any:
    types: dict[str, Any] = {"char": POINTER(c_char), "int": POINTER(c_int), "number": _DOUBLES, "array": _DOUBLES}
    address = get_cython_function_address(f"scipy.linalg.cython_{module}", name)
    return ctypes.CFUNCTYPE(None, *(types[kind] for kind in kinds))(address)


_potrf = _routine("lapack", "dpotrf", "char", "int", "array", "int", "int")
_potri = _routine("lapack", "dpotri", "char", "int", "array", "int", "int")
_trsm = _routine(
    "blas", "dtrsm", "char", "char", "char", "char", "int", "int", "number", "array", "int", "array", "int"
)
_syrk = _routine("blas", "dsyrk", "char", "char", "int", "int", "number", "array", "int", "number", "array", "int")
_trsv = _routine("blas", "dtrsv", "char", "char", "char", "int", "array", "int", "array", "int")
_LOWER = _LEFT = byref(c_char(b"L"))
_TRANSPOSED = byref(c_char(b"T"))
_NO_UNIT = byref(c_char(b"N"))


def cholesky(a: Floats, n: int) -> bool:
    """Factor the leading n x n part in place (lower triangle, column-major); False if it is not positive."""
    info = c_int()
    if n:
        with blas_threads(n**3 / 3):
            _potrf(_LOWER, byref(c_int(n)), _pointer(a), byref(c_int(a.shape[0])), byref(info))
    return info.value == 0


def inverse_from_cholesky(a: Floats, n: int) -> None:
    """Turn the leading n x n factor into the inverse of what was factored, in place (lower triangle)."""
    if n:
        with blas_threads(2 * n**3 / 3):
            _potri(_LOWER, byref(c_int(n)), _pointer(a), byref(c_int(a.shape[0])), byref(c_int()))


def solve_triangular(a: Floats, n: int, b: Floats, *, transposed: bool = False) -> None:
    """b becomes L^-1 b (or L^-T b) in place, for the leading n x n factor L of a; b column-major."""
    form, rows = byref(c_char(b"T" if transposed else b"N")), byref(c_int(n))
    stride = byref(c_int(a.shape[0]))
    if n and b.shape[1] == 1:
        _trsv(_LOWER, form, _NO_UNIT, rows, _pointer(a), stride, _pointer(b), byref(c_int(1)))
    elif n and b.shape[1]:
        columns, one, b_stride = byref(c_int(b.shape[1])), byref(c_double(1.0)), byref(c_int(b.shape[0]))
        with blas_threads(n**2 * b.shape[1]):
            _trsm(_LEFT, _LOWER, form, _NO_UNIT, rows, columns, one, _pointer(a), stride, _pointer(b), b_stride)


def gram(b: Floats) -> Floats:
    """b^T b, column-major, lower triangle only; b column-major."""
    n, columns = b.shape
    out = np.empty((columns, columns), order="F")
    size, stride, one, zero = byref(c_int(columns)), byref(c_int(max(n, 1))), byref(c_double(1.0)), byref(c_double(0.0))
    if columns:
        with blas_threads(n * columns**2):
            _syrk(_LOWER, _TRANSPOSED, size, byref(c_int(n)), one, _pointer(b), stride, zero, _pointer(out), size)
    return out


def _pointer(a: Floats) -> Any:
    if not a.flags.f_contiguous:
        raise ValueError("LAPACK needs a column-major array")
    return a.ctypes.data_as(_DOUBLES)
