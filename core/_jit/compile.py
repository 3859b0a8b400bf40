"""The one place for jit flags, and the list of all kernels."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba import types
from numba.core.caching import FunctionCache, NullCache

from core._types import Codes, Indices

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

OUTSIDE = "an index is outside of its array: codes, starts, levels and results do not belong together"

_KERNELS: list[tuple[Any, tuple[Signature, ...]]] = []

_FunctionCache: Any = FunctionCache
_Implementation: Any = FunctionCache._impl_class
_Given: Any = _Implementation._locator_classes[0]  # NUMBA_CACHE_DIR


class _ReadOnly(_Given):  # type: ignore[misc]
    """NUMBA_CACHE_DIR that was filled before and cannot be written, as in a container; numba alone passes it over."""

    def ensure_cache_path(self) -> None:
        if not Path(self.get_cache_path()).is_dir():
            raise FileNotFoundError


class _Locating(_Implementation):  # type: ignore[misc]
    _locator_classes = (_Given, _ReadOnly, *_Implementation._locator_classes[1:])


class _Cache(_FunctionCache):  # type: ignore[misc]
    _impl_class = _Locating

    def save_overload(self, sig: Any, data: Any) -> None:
        with suppress(OSError):  # read-only, or full
            super().save_overload(sig, data)


def kernel(*signatures: Signature) -> Callable[[F], F]:
    """Mark a function as a numba kernel that is used with these argument types.

    Nothing is compiled until the first call or `compile_all`. Kernels run without the GIL. Sums may be reordered and
    multiply-adds contracted; NaN and infinity keep their meaning.
    """

    def mark(function: F) -> F:
        compiled: Any = numba.njit(nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})(function)
        with suppress(RuntimeError, AttributeError):  # no folder to cache in; or no JIT, nothing to cache
            compiled._cache = _Cache(compiled.py_func)
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


@inline
def check_index(index: int, size: int) -> None:
    """Raise an IndexError unless it is one of so many entries."""
    if index < 0 or index >= size:
        raise IndexError(OUTSIDE)


@inline
def check_slice(lo: int, hi: int, size: int) -> None:
    """Raise an IndexError unless lo to hi is a slice of so many entries."""
    if lo < 0 or lo > hi or hi > size:
        raise IndexError(OUTSIDE)


@inline
def check_starts(starts: Indices, first: int, last: int, size: int) -> None:
    """Raise an IndexError unless groups first to last are neighbouring stretches of so many entries."""
    check_slice(first, last, starts.size - 1)
    for i in range(first, last):
        if starts[i] < 0 or starts[i] > starts[i + 1] or starts[i + 1] > size:
            raise IndexError(OUTSIDE)


@inline
def check_codes(codes: Codes, first: int, last: int, size: int) -> None:
    """Raise an IndexError unless the codes from first to last are below `size`."""
    if first < last and codes[first:last].max() >= size:  # many at a time
        raise IndexError(OUTSIDE)


@inline
def check_order(order: Indices, start: Indices, size: int) -> None:
    """Raise an IndexError unless dimensions are stretches of `order`, and that holds numbers below `size`."""
    check_starts(start, 0, start.size - 1, order.size)
    for p in range(order.size):
        check_index(order[p], size)


def compile_all() -> int:
    """Compile every kernel, or load it from numba's cache; returns how many signatures are ready."""
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return 0
    for compiled, signatures in _KERNELS:
        for signature in signatures:
            _compile(compiled, signature)
    return compiled_signatures()


def _compile(compiled: Any, signature: Signature) -> None:
    try:
        compiled.compile(signature)
    except Exception:  # a cache that was cut off may raise anything: do without
        compiled._cache = NullCache()
        compiled.compile(signature)


def compiled_signatures() -> int:
    """How many signatures of our kernels are compiled in this process."""
    return sum(len(compiled.signatures) for compiled, _ in _KERNELS)
