"""Which kernel: decided by leave-one-out squared error on what is labelled, never on noise."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from core._types import Floats, Indices
from core.factory import make_operator, make_reader, make_regression
from core.histograms import reduced
from core.kernels import Kernel
from core.linalg import AtBound
from core.posterior import one_vs_all
from core.selection.compare import Contender, Verdict, compare
from core.settings import Settings
from core.tuning import Tuned, leave_one_out, tune

SAMPLE_ROWS = 500
DENSE = ("rbf", "linear")


@dataclass(frozen=True, eq=False)
class Choice:
    """The kernel that won, as it was found to be best, and what it was compared with."""

    name: str
    settings: Settings
    kernel: Kernel
    noise: float
    contenders: tuple[Contender, ...]
    at_bounds: tuple[AtBound, ...] = ()  # of the winner's search

    def __str__(self) -> str:
        return str(Verdict(self.name, "leave-one-out squared error", self.contenders))


CANDIDATES: dict[str, dict[str, Any]] = {
    "hik": {},
    "hik-power": {"transform": "power"},
    "hik-exp": {"transform": "exp", "tune": "loo"},
    "hik-normalised": {"normalise": True},
    "complement": {"complement": True},
    "split": {"split": True},
    "rbf": {"kernel": "rbf"},
    "linear": {"kernel": "linear"},
}


def candidate(settings: Settings, name: str) -> Settings:
    """The settings with the kernel of this name, for label regression."""
    plain: dict[str, Any] = {"kernel": "hik", "transform": None, "eta": 1.0}
    plain |= {"normalise": False, "complement": False, "split": False}
    plain |= {"likelihood": "gaussian", "tune": None if settings.tune == "cv" else settings.tune}
    return replace(settings, **plain | CANDIDATES[name])


def candidates(settings: Settings, x: Any, n_rows: int = 0) -> list[str]:
    """What may be chosen from: histogram kernels, of split signs where a value is negative; what takes any number.

    Dense kernels only where so many rows of them fit into memory.
    """
    histograms = reduced(x, _least, min) >= 0.0
    dense = 2 * 8 * n_rows * x.shape[1] <= settings.max_memory
    unfit = {"split"} if histograms else {name for name in CANDIDATES if name.startswith("hik")}
    return [name for name in CANDIDATES if name not in unfit and (dense or name not in DENSE)]


def _least(x: Any) -> float:
    return float((x.data if sp.issparse(x) else x).min(initial=0.0))


def first_kernel(settings: Settings, x: Any) -> str:
    """The candidate to begin with, before there are labels to choose by."""
    names = candidates(settings, x, x.shape[0])
    return next(name for name in ("hik", "rbf", "complement") if name in names)


def choose_kernel(
    settings: Settings,
    x: Any,
    labels: Indices,
    n_classes: int,
    incumbent: str | None = None,
    n_rows: int = 0,
    on_step: Callable[[], object] = lambda: None,
) -> Choice:
    """Compare the candidates on (a sample of) the labelled rows, each at its own best noise and parameter.

    The kernel in use, or the plainest at first, stays unless the best one's rows are better by two standard errors of
    their paired differences. Rows to be kept in memory (`n_rows`) may rule dense kernels out, and so many labels that
    their matrix does not fit the normalised one, which has no level space. `on_step` is called before each evaluation.

    >>> x = np.random.default_rng(0).normal(size=(60, 2))
    >>> choose_kernel(Settings(), x, (x[:, 0] * x[:, 1] > 0).astype(int), 2).name
    'rbf'
    """
    fits = 8 * len(labels) ** 2 <= settings.max_memory
    rows = np.unique(np.linspace(0, len(labels) - 1, SAMPLE_ROWS).astype(np.int64))
    x, labels = x[rows], labels[rows]
    names = [name for name in candidates(settings, x, n_rows) if fits or name != "hik-normalised"]
    options = {name: candidate(settings, name) for name in names}
    tried = {name: _try(option, x, labels, n_classes, on_step) for name, option in options.items()}
    winner, ranked = compare({name: errors for name, (errors, _) in tried.items()}, incumbent)
    found = tried[winner][1]
    return Choice(winner, options[winner], found.kernel, found.noise, ranked, found.at_bounds)


@dataclass(frozen=True, eq=False)
class Chooser:
    """Keeps the rows that were learnt, to decide again each time there are twice as many."""

    settings: Settings  # as the user gave them
    choice: Choice | None = None
    table: Any = None
    kernel_chosen_at: int = 0

    def decided(self, x: Any, labels: Indices, n_classes: int) -> "Chooser":
        """With a choice made for these rows, which are all there are."""
        incumbent = self.choice.name if self.choice else None
        choice = choose_kernel(self.settings, x, labels, n_classes, incumbent)
        return replace(self, choice=choice, table=x, kernel_chosen_at=x.shape[0])

    def is_due(self, more: int) -> bool:
        """Whether so many more rows are reason to decide again."""
        return bool(self.table.shape[0] + more >= 2 * self.kernel_chosen_at)

    def with_rows(self, x: Any) -> "Chooser":
        """With these rows, too."""
        sparse = sp.issparse(self.table) or sp.issparse(x)
        return replace(self, table=sp.vstack([self.table, x], format="csr") if sparse else np.vstack([self.table, x]))

    def without(self, rows: Indices) -> "Chooser":
        """Without these rows."""
        return replace(self, table=self.table[np.delete(np.arange(self.table.shape[0]), rows)])


def _try(
    settings: Settings, x: Any, labels: Indices, n_classes: int, on_step: Callable[[], object]
) -> tuple[Floats, Tuned]:
    """Squared leave-one-out error of each row, summed over the classes, and the parameters it was reached with."""
    reader = make_reader(settings, x)
    operator = make_operator(settings, x, reader)
    model = make_regression(settings, operator, labels, n_classes)
    found = tune(model, "loo", on_step=on_step)
    model.reset(found.kernel, found.noise)
    means, _ = leave_one_out(model)
    return ((one_vs_all(labels, n_classes) - means) ** 2).sum(axis=1), found
