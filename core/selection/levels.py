"""How many levels: every value, and fewer only where level space pays and nothing is lost."""

from dataclasses import dataclass, replace

import numpy as np

from core._types import Floats, Indices, Table
from core.factory import make_operator, make_regression, single_reader
from core.histograms import FEW_LEVELS, LevelRule
from core.kernels import Kernel
from core.linalg import HistogramOperator
from core.posterior import LabelRegression, costs, one_vs_all
from core.selection.compare import SURE, TRIFLE, standard_error
from core.settings import Settings
from core.tuning import leave_one_out, tune

COMPARED_ROWS = 500


@dataclass(frozen=True)
class LevelLoss:
    """By how much fewer levels raise the leave-one-out squared error of a label, from that with every value."""

    error: float  # with every value
    loss: float
    loss_error: float  # standard error

    @property
    def is_sure(self) -> bool:
        """Whether something is lost: by two standard errors, and more than a trifle."""
        return self.loss > max(SURE * self.loss_error, TRIFLE * self.error)

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
    return ("few" if loss is not None and not loss.is_sure else "auto"), loss


def pays(x: Table, n_classes: int) -> bool:
    """Whether a fit of these rows and its updates are quicker in the level space of few levels."""
    n, nnz = x.shape[0], int(x.nnz) if hasattr(x, "nnz") else int(np.prod(x.shape))
    table = costs(n, FEW_LEVELS, nnz, n_classes)
    return table["levels"].seconds < table["dual"].seconds


def level_loss(settings: Settings, x: Table, labels: Indices, n_classes: int) -> LevelLoss | None:
    """Measured on rows that are spread evenly over x, at the parameters that are best with every value.

    None where few levels are all there are.
    """
    plain = replace(settings, posterior="dual", levels="few")
    reader = single_reader(plain, x)
    few = make_operator(plain, x, reader, rows=False)
    if not (isinstance(few, HistogramOperator) and few.histograms.quantised):
        return None
    rows = np.unique(np.linspace(0, len(labels) - 1, COMPARED_ROWS).astype(np.int64))
    some, numbers = x[rows], labels[rows]
    every = make_operator(replace(plain, levels=None), some, reader)
    model = make_regression(plain, every, numbers, n_classes)
    found = tune(model, "loo")
    few.append(few.encode(reader(some)))
    errors = [
        _errors(make_regression(plain, operator, numbers, n_classes), found.kernel, found.noise)
        for operator in (every, few)
    ]
    lost = errors[1] - errors[0]
    return LevelLoss(float(errors[0].mean()), float(lost.mean()), standard_error(lost))


def _errors(model: LabelRegression, kernel: Kernel, noise: float) -> Floats:
    """Squared leave-one-out error of each row, summed over the classes."""
    model.reset(kernel, noise)
    means, _ = leave_one_out(model)
    return np.asarray(((one_vs_all(model.labels, model.n_classes) - means) ** 2).sum(axis=1))
