"""Threads of BLAS in a process that does many things at once.

BLAS splits even small products over all cores, and its threads wait for each other: where cores are busy, that takes
many times as long as one thread does. Callers who have much to do say so.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import ThreadpoolController

from core._parallel import threads

MUCH = 1e9  # operations from which threads of BLAS are worth their waiting


class _Blas:
    """All BLAS libraries of the process."""

    def __init__(self) -> None:
        self._changing = threading.Lock()
        self._libraries: list[Any] = []  # empty: BLAS decides for itself
        self._callers: set[object] = set()  # who have much to do

    def share_cores(self) -> None:
        """From now on BLAS works in one thread, except inside `threads`: for services, and for tests."""
        with self._changing:
            self._libraries = ThreadpoolController().select(user_api="blas").lib_controllers
            self._set()

    @contextmanager
    def threads(self, operations: float) -> Iterator[None]:
        """Work of so many operations: with all cores, if that is much."""
        if operations < MUCH or not self._libraries:
            yield
            return
        caller = object()
        try:
            with self._changing:
                self._callers.add(caller)
                self._set()
            yield
        finally:  # also of a caller who was interrupted before it was counted
            with self._changing:
                self._callers.discard(caller)
                self._set()

    def _set(self) -> None:
        for library in self._libraries:
            library.set_num_threads(threads() if self._callers else 1)


_blas = _Blas()
share_cores = _blas.share_cores
blas_threads = _blas.threads
