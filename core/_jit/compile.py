"""The one place for jit flags, and the list of all kernels."""

from collections.abc import Callable
from typing import Any, TypeVar

import numba
from numba import types

F = TypeVar("F", bound=Callable[..., Any])

INDEX = types.int64
INDICES = types.Array(types.int64, 1, "C")
DIMS = types.Array(types.int32, 1, "C")
NARROW = types.Array(types.uint16, 1, "C")
WIDE = types.Array(types.uint32, 1, "C")
VECTOR = types.Array(types.float64, 1, "C")
BLOCK = types.Array(types.float64, 2, "C")
MATRIX = types.Array(types.float64, 2, "F")
NUMBER = types.float64
Signature = tuple[types.Type, ...]

_KERNELS: list[tuple[Any, tuple[Signature, ...]]] = []


def kernel(*signatures: Signature) -> Callable[[F], F]:
    """Mark a function as a numba kernel that is used with these argument types.

    Nothing is compiled until the first call or `compile_all`. Kernels run without the GIL. Sums may be reordered and
    multiply-adds contracted; NaN and infinity keep their meaning.
    """

    def mark(function: F) -> F:
        compiled: Any = numba.njit(
            nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"}
        )(function)
        _KERNELS.append((compiled, signatures))
        return compiled  # type: ignore[no-any-return]

    return mark


def inline(function: F) -> F:
    """Mark a helper that kernels call; it is compiled into them."""
    compiled: Any = numba.njit(inline="always", error_model="numpy")(function)
    return compiled  # type: ignore[no-any-return]


def helper(function: F) -> F:
    """Mark a function that kernels call and that is too large to inline."""
    compiled: Any = numba.njit(nogil=True, error_model="numpy")(function)
    return compiled  # type: ignore[no-any-return]


def compile_all() -> int:
    """Compile every kernel, or load it from numba's cache; returns how many signatures are ready."""
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return 0
    for compiled, signatures in _KERNELS:
        for signature in signatures:
            compiled.compile(signature)
    return compiled_signatures()


def compiled_signatures() -> int:
    """How many signatures of our kernels are compiled in this process."""
    return sum(len(compiled.signatures) for compiled, _ in _KERNELS)
