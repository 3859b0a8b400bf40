"""Hyperparameters that find themselves."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from core._types import Floats
from core.evidence.bound import BoundCriterion
from core.evidence.criteria import Criterion, CriterionName, Evaluation
from core.evidence.dual import DualCriterion
from core.evidence.levels import LevelCriterion
from core.evidence.search import Setting, gradient_search, simplex_search
from core.kernels import Kernel, RBFKernel
from core.linalg import HistogramOperator
from core.posterior import LabelRegression, one_vs_all

SAMPLE_ROWS = 2000  # of a system that cannot be factored, for criteria that must be


@dataclass(frozen=True, eq=False)
class Tuned:
    """What a search found: amplitude included, so that variances fit the leave-one-out residuals."""

    kernel: Kernel
    noise: float
    criterion: CriterionName
    value: float
    evaluations: int
    simplex: Floats | None  # for the next, warm search


def criterion_for(model: LabelRegression, name: CriterionName) -> Criterion:
    """The criterion in the form that the model's posterior has.

    Where there is no factor (iterative), leave-one-out error and evidence are those of a sample of the rows.
    """
    operator = model.operator
    targets, shape = one_vs_all(model.labels, model.n_classes), model.noise_shape()
    if name == "bound":
        if not isinstance(operator, HistogramOperator):
            raise ValueError('tune="bound" is for the histogram kernel; use "loo" or "evidence"')
        return BoundCriterion(operator, targets, shape)
    if model.name == "levels" and isinstance(operator, HistogramOperator):
        return LevelCriterion(operator, targets, shape, name)
    if model.name == "iterative" and len(operator) > SAMPLE_ROWS:
        return _sampled(model, name)
    return DualCriterion(operator, targets, shape, name)


def _sampled(model: LabelRegression, name: CriterionName) -> Criterion:
    """The criterion of rows spread evenly over all."""
    rows = np.linspace(0, len(model.labels) - 1, SAMPLE_ROWS).astype(np.int64)
    targets = one_vs_all(model.labels[rows], model.n_classes)
    return DualCriterion(model.operator.only(rows), targets, model.noise_shape()[rows], name)


def _telling(criterion: Criterion, on_step: Callable[[], object]) -> Criterion:
    def evaluate(kernel: Kernel, noise: float, *, gradient: bool = False) -> Evaluation:
        on_step()
        return criterion(kernel, noise, gradient=gradient)

    return evaluate


def free_parameters(kernel: Kernel, *, weights: bool) -> tuple[str, ...]:
    """What a search moves: the noise, the parameter of a transform or of the RBF kernel, and weights if asked for."""
    names = ["noise"]
    if getattr(kernel, "transform", None) is not None:
        names.append("eta")
    if isinstance(kernel, RBFKernel):
        names.append("gamma")
    if weights:
        names += [name for name in kernel.names if name.startswith("weight")]
    return tuple(names)


def tune(
    model: LabelRegression,
    name: CriterionName = "loo",
    *,
    weights: bool = False,
    simplex: Floats | None = None,
    l1: float = 0.0,
    l2: float = 0.0,
    on_step: Callable[[], object] = lambda: None,
) -> Tuned:
    """Search from where the model is, and leave the model as it is.

    Few parameters are found by a simplex, which may start from that of the last search; weights by L-BFGS. `on_step` is
    called before each evaluation; what it raises ends the search.
    """
    start = Setting(model.operator.kernel, model.noise, free_parameters(model.operator.kernel, weights=weights))
    criterion = _telling(criterion_for(model, name), on_step)
    spent = 0
    if weights:
        found = gradient_search(criterion, start, l1=l1, l2=l2)
    else:
        if simplex is None and name != "bound" and len(model.labels) > 2 * SAMPLE_ROWS:
            # A sample tells roughly where to look, at a small part of the cost.
            rough = simplex_search(_telling(_sampled(model, name), on_step), start)
            start, simplex, spent = rough.setting, rough.simplex, rough.evaluations
        found = simplex_search(criterion, start, simplex)
    amplitude = found.evaluation.amplitude
    if not (np.isfinite(amplitude) and amplitude > 0.0):
        amplitude = 1.0
    setting = found.setting
    return Tuned(
        setting.kernel.scaled(amplitude),
        setting.noise * amplitude,
        name,
        found.evaluation.value,
        spent + found.evaluations,
        found.simplex,
    )
