"""A pool that is cut into parts in this process: what a cluster does, without one."""

import pickle
from dataclasses import dataclass

import cloudpickle
import numpy as np

from core.histograms import pairwise_reduced
from core.posterior import Part


def sent(what):
    """As it would arrive elsewhere."""
    return pickle.loads(cloudpickle.dumps(what))


@dataclass(eq=False)
class CutParts:
    parts: list
    size: int

    def __len__(self):
        return sum(map(len, self.parts))

    def map(self, change):
        return CutParts([sent(change)(part) for part in self.parts], self.size)

    def collect(self, look, along=None):
        firsts = self.size * np.arange(len(self.parts))
        ends = firsts + [len(part) for part in self.parts]
        more = [() if along is None else (along[a:b],) for a, b in zip(firsts, ends, strict=True)]
        entries = zip(firsts, self.parts, more, strict=True)
        return [sent(look)(int(first), part, *stretch) for first, part, stretch in entries]

    def take(self, items):
        found = [self.parts[item // self.size].take(np.array([item % self.size])) for item in items]
        return found[0].joined(found[1:]) if found else self.parts[0].take(items)

    def append(self, part):
        last, parts = self.parts[-1], self.parts[:-1]
        together = last.between(0, len(last)).joined([part])
        return CutParts(parts + [block for _, block in together.blocks(size=self.size)], self.size)


@dataclass(eq=False)
class CutEngine:
    """Works on blocks of so many rows."""

    size: int

    def reduce(self, table, look, join):
        return pairwise_reduced(join, (sent(look)(sent(table.read)(*cut)) for cut in self._cuts(table.shape[0])))

    def parts(self, table, code):
        return CutParts([Part.begin(sent(code)(table.read(*cut))) for cut in self._cuts(table.shape[0])], self.size)

    def _cuts(self, n):
        return [(first, min(n, first + self.size)) for first in range(0, n, self.size)]
