"""Every kernel is given garbage, in arrays that stand between sentinels. Run as a script: what goes wrong may crash."""

import sys
from typing import Any

import numpy as np
from numba import types

from core._jit import compile_all
from core._jit.compile import _KERNELS

PAD = 64
NASTY = (-(2**63), -(2**31), -100, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 9, 100, 2**16 - 1, 2**31 - 1, 2**62, 2**63 - 1)
BYTE = 0xA5


class Given:
    """Random arguments of the types that a kernel takes, and whether anything beside them was written."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._buffers: list[tuple[Any, int]] = []
        self._sane = rng.random() < 0.7  # most of what matters is one wrong number among good ones

    def of(self, kind: Any) -> Any:
        """One argument."""
        if isinstance(kind, types.NamedTuple):
            return kind.instance_class(*map(self.of, kind.types))
        if isinstance(kind, types.Array):
            return self._array(kind)
        return self._index() if isinstance(kind, types.Integer) else float(self._rng.normal())

    def _index(self) -> int:
        return int(self._rng.integers(0, 6)) if self._mostly() else int(self._rng.choice(NASTY))

    def _mostly(self) -> bool:
        return bool(self._rng.random() < (0.97 if self._sane else 0.6))

    def _array(self, kind: Any) -> Any:
        dtype = np.dtype(str(kind.dtype))
        shape = [6] * kind.ndim if self._mostly() else self._rng.integers(0, 8, kind.ndim).tolist()
        size = int(np.prod(shape))
        buffer = np.empty(size + 2 * PAD, dtype)
        buffer.view(np.uint8)[:] = BYTE
        self._buffers.append((buffer, size))
        array = buffer[PAD : PAD + size].reshape(shape, order=kind.layout)
        array[...] = self._numbers(shape, dtype)
        return array

    def _numbers(self, shape: Any, dtype: Any) -> Any:
        rng = self._rng
        if dtype.kind == "f":
            return rng.choice([rng.normal(), 0.5, 2.0, 1e300, -1e300, np.nan, np.inf, -np.inf], shape)
        size = int(np.prod(shape))
        values = rng.integers(0, 6, size)
        if rng.random() < 0.5:
            values = np.sort(values)  # as starts are
        nasty = np.array([value & (2**63 - 1) if dtype.kind == "u" else value for value in NASTY])
        wrong = rng.random(size) < (0.03 if self._sane else 0.3)
        values[wrong] = rng.choice(nasty, wrong.sum())
        return values.astype(dtype).reshape(shape)

    def untouched(self) -> bool:
        """Whether all that stands beside the arrays is as it was."""
        sides = [side for buffer, size in self._buffers for side in (buffer[:PAD], buffer[PAD + size :])]
        return all((side.view(np.uint8) == BYTE).all() for side in sides)


def main(rounds: int) -> None:
    """Print how often each kernel took what it was given, and how often it refused."""
    compile_all()
    for compiled, signatures in _KERNELS:
        name = compiled.__name__
        for number, signature in enumerate(signatures):
            done = refused = 0
            for seed in range(rounds):
                given = Given(np.random.default_rng([seed, number]))
                arguments = [given.of(kind) for kind in signature]
                print(name, number, seed, file=sys.stderr)  # the last line tells where it crashed
                try:
                    compiled(*arguments)
                    done += 1
                except IndexError:
                    refused += 1
                assert given.untouched(), f"{name} wrote outside of its arrays, seed {seed}"
            print(name, number, done, refused)


if __name__ == "__main__":
    main(int(sys.argv[1]))
