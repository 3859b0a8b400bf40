"""The one way to decide by labels: errors on the same rows, and a change only where it is surely better."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from core._types import Floats

SURE = 2.0  # standard errors by which a challenger must win
TRIFLE = 0.005  # of the error, which is no reason to change: kernels may be the same but for rounding


@dataclass(frozen=True)
class Contender:
    """What was tried: its error, and by how much (with standard error) that is above the winner's."""

    name: str
    error: float
    behind: float
    behind_error: float


@dataclass(frozen=True)
class Verdict:
    """What won, and what it was compared with; or why there was nothing to compare."""

    name: str
    measure: str
    contenders: tuple[Contender, ...] = ()
    reason: str = ""

    def __str__(self) -> str:
        if not self.contenders:
            return f"{self.name}: {self.reason}"
        table = {contender.name: contender for contender in self.contenders}
        own = table.pop(self.name)
        others = ", ".join(f"{c.name} {c.error:.4f} ({c.behind:+.4f} +- {c.behind_error:.4f})" for c in table.values())
        return f"{self.name}: {self.measure} {own.error:.4f}; {others}"


def compare(errors: Mapping[str, Floats], incumbent: str | None) -> tuple[str, tuple[Contender, ...]]:
    """Who wins by errors on the same rows: the incumbent (or the first) unless the best is surely better; best first.

    Surely is by two standard errors of the paired differences and by more than a trifle, lest a choice go to and fro.

    >>> compare({"a": np.array([0.5, 0.6, 0.7]), "b": np.array([0.1, 0.2, 0.3])}, None)[0]
    'b'
    """
    winner = incumbent if incumbent is not None and incumbent in errors else next(iter(errors))
    best = min(errors, key=lambda name: errors[name].mean())
    gain = errors[winner] - errors[best]
    if gain.mean() > max(SURE * standard_error(gain), TRIFLE * errors[winner].mean()):
        winner = best
    contenders = []
    for name, own in errors.items():
        behind = own - errors[winner]
        contenders.append(Contender(name, float(own.mean()), float(behind.mean()), standard_error(behind)))
    return winner, tuple(sorted(contenders, key=lambda c: c.error))


def standard_error(differences: Floats) -> float:
    """Of their mean."""
    return float(differences.std() / np.sqrt(max(len(differences) - 1, 1)))
