"""How many levels: every value, and fewer only where level space pays and nothing is lost."""

from dataclasses import dataclass, replace

import numpy as np

from core._types import Floats, Indices, Table
from core.factory import make_operator, make_regression, single_reader
from core.histograms import FEW_LEVELS, LevelRule
from core.posterior import costs, one_vs_all
from core.selection.kernel import SURE, standard_error
from core.settings import Settings
from core.tuning import leave_one_out, tune

COMPARED_ROWS = 1000


@dataclass(frozen=True)
class LevelLoss:
    """By how much fewer levels raise the leave-one-out squared error of a label, from that with every value."""

    error: float  # with every value
    loss: float
    loss_error: float  # standard error

    @property
    def is_sure(self) -> bool:
        """Whether something is lost, by two standard errors."""
        return self.loss > SURE * self.loss_error

    def __str__(self) -> str:
        return (
            f"leave-one-out squared error {self.error:.4f} with every value, "
            f"{self.loss:+.4f} +- {self.loss_error:.4f} with few levels"
        )


def choose_levels(settings: Settings, x: Table, labels: Indices, n_classes: int) -> tuple[LevelRule, LevelLoss | None]:
    """The rule for the levels of a model of these rows: "few" only where level space is quicker and loses nothing.

    With levels="auto", kernel="hik" and a posterior that is left open; otherwise the rule of the settings.
    """
    free = settings.levels == "auto" and settings.kernel == "hik" and not settings.normalise
    if not (free and settings.likelihood == "gaussian"):
        return settings.levels, None
    if settings.posterior == "levels":
        return "few", None
    if settings.posterior != "auto" or not pays(x, n_classes):
        return "auto", None
    loss = level_loss(settings, x, labels, n_classes)
    return ("auto" if loss.is_sure else "few"), loss


def pays(x: Table, n_classes: int) -> bool:
    """Whether a fit of these rows and its updates are quicker in the level space of few levels."""
    n, nnz = x.shape[0], int(x.nnz) if hasattr(x, "nnz") else int(np.prod(x.shape))
    table = costs(n, FEW_LEVELS, nnz, n_classes)
    return table["levels"].seconds < table["dual"].seconds


def level_loss(settings: Settings, x: Table, labels: Indices, n_classes: int) -> LevelLoss:
    """Measured on rows that are spread evenly over x, with the noise that is best with every value."""
    rows = np.unique(np.linspace(0, len(labels) - 1, COMPARED_ROWS).astype(np.int64))
    some = x[rows], labels[rows], n_classes
    every = _errors(replace(settings, levels=None), *some)
    few = _errors(replace(settings, levels="few"), *some, sample_of=x)
    return LevelLoss(float(every.mean()), float((few - every).mean()), standard_error(few - every))


def _errors(settings: Settings, x: Table, labels: Indices, n_classes: int, sample_of: Table | None = None) -> Floats:
    """Squared leave-one-out error of each row, with levels chosen from all rows of which these are a sample."""
    plain = replace(settings, posterior="dual")
    known = x if sample_of is None else sample_of
    reader = single_reader(plain, known)
    operator = make_operator(plain, known, reader, rows=False)
    operator.append(operator.encode(reader(x)))
    model = make_regression(plain, operator, labels, n_classes)
    found = tune(model, "loo")
    model.reset(found.kernel, found.noise)
    means, _ = leave_one_out(model)
    return np.asarray(((one_vs_all(labels, n_classes) - means) ** 2).sum(axis=1))
