"""Changing a Cholesky factor: lower triangle of the leading n x n part of a column-major buffer.

Rank-one changes take the factor from `source` to `factor` if `apart`, or else change it in place. A column is changed
as soon as it is copied, which costs no further pass over the memory.
"""

import numpy as np
from numba import types

from core._jit.compile import INDEX, MATRIX, VECTOR, check_slice, inline, kernel
from core._types import Floats


@inline
def copy_columns(source: Floats, factor: Floats, n: int, first: int, last: int) -> None:
    """Columns first to last."""
    for j in range(first, last):
        for i in range(j, n):
            factor[i, j] = source[i, j]


@kernel((MATRIX, MATRIX, types.boolean, INDEX, VECTOR, INDEX))
def update(source: Floats, factor: Floats, apart: bool, n: int, v: Floats, first: int) -> None:
    """L L^T + v v^T by Givens rotations; v (zero before `first`) is destroyed."""
    check_slice(first, n, min(factor.shape[0], factor.shape[1], v.size))
    check_slice(0, n, min(source.shape))
    if apart:
        copy_columns(source, factor, n, 0, first)
    for j in range(first, n):
        if apart:
            copy_columns(source, factor, n, j, j + 1)
        x = v[j]
        if x != 0.0:
            diagonal = factor[j, j]
            radius = np.hypot(diagonal, x)
            c = radius / diagonal
            s = x / diagonal
            factor[j, j] = radius
            for i in range(j + 1, n):
                rotated = (factor[i, j] + s * v[i]) / c
                v[i] = c * v[i] - s * rotated
                factor[i, j] = rotated


@kernel((MATRIX, MATRIX, types.boolean, INDEX, VECTOR, INDEX))
def downdate(source: Floats, factor: Floats, apart: bool, n: int, v: Floats, first: int) -> int:
    """L L^T - v v^T by hyperbolic rotations; v is destroyed. Returns n, or the column where it is not positive."""
    check_slice(first, n, min(factor.shape[0], factor.shape[1], v.size))
    check_slice(0, n, min(source.shape))
    if apart:
        copy_columns(source, factor, n, 0, first)
    for j in range(first, n):
        if apart:
            copy_columns(source, factor, n, j, j + 1)
        x = v[j]
        if x != 0.0:
            diagonal = factor[j, j]
            square = (diagonal - x) * (diagonal + x)
            if not square > 1e-12 * diagonal * diagonal:
                return j
            radius = np.sqrt(square)
            c = radius / diagonal
            s = x / diagonal
            factor[j, j] = radius
            for i in range(j + 1, n):
                rotated = (factor[i, j] - s * v[i]) / c
                v[i] = c * v[i] - s * rotated
                factor[i, j] = rotated
    return n


@kernel((MATRIX, INDEX, INDEX))
def close_gap(factor: Floats, n: int, j: int) -> None:
    """Move the rows and columns after j one place up and left (the trailing factor was updated before)."""
    check_slice(j, n, min(factor.shape))
    for column in range(n):
        if column != j:
            target = column if column < j else column - 1
            for i in range(max(column, j + 1), n):
                factor[i - 1, target] = factor[i, column]


@kernel((MATRIX, INDEX, INDEX))
def mirror(matrix: Floats, lo: int, hi: int) -> None:
    """Copy the lower triangle to the upper one: columns lo to hi of it, in tiles that stay in the cache."""
    check_slice(lo, hi, min(matrix.shape))
    for first in range(0, hi, 64):
        for column in range(max(lo, first), hi):
            for row in range(first, min(first + 64, column)):
                matrix[row, column] = matrix[column, row]
