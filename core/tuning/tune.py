"""Search for the hyperparameters of label regression."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from core._types import Floats
from core.kernels import Kernel, RBFKernel, SumKernel
from core.linalg import AtBound, HistogramOperator, SumOperator, Units
from core.posterior import LabelRegression, one_vs_all
from core.tuning.bound_criterion import BoundCriterion
from core.tuning.criteria import Criterion, CriterionName, Evaluation
from core.tuning.dual_criterion import DualCriterion
from core.tuning.level_criterion import LevelCriterion
from core.tuning.search import LADDER, NOISE_BOUNDS, Found, Setting, best_noise, gradient_search, simplex_search

Given = tuple[Kernel, float]
"""A kernel and a noise."""

TYPICAL_NOISE = 0.1  # of the mean of k(x, x), around which the noise of a sum of kernels is expected
WIDE = 2.0  # standard deviation of its logarithm, and of those of weights
GAMMA_WIDE = 1.0  # the same of gamma: labels that were asked for lie at borders, where too local a kernel looks good
MATRICES = 5  # n x n, that a gradient by the n x n system needs
SAMPLE_ROWS = 2000  # of a system that cannot be factored, for criteria that must be


@dataclass(frozen=True, eq=False)
class Tuned:
    """Result of a search, scaled by the amplitude so that variances fit the leave-one-out residuals."""

    kernel: Kernel
    noise: float
    criterion: CriterionName
    value: float
    evaluations: int
    simplex: Floats | None  # warm start of the next search
    at_bounds: tuple[AtBound, ...] = ()  # parameters whose optimum may be outside of the bounds


def criterion_for(model: LabelRegression, name: CriterionName) -> Criterion:
    """The criterion in the form that the model's posterior has.

    Where there is no factor (iterative), or no memory for its gradients, leave-one-out error and evidence are those of
    a sample of the rows.
    """
    operator = model.operator
    targets, shape = one_vs_all(model.labels, model.n_classes), model.noise_shape()
    if name == "bound":
        if not isinstance(operator, HistogramOperator):
            raise ValueError('tune="bound" is for the histogram kernel; use "loo" or "evidence"')
        return BoundCriterion(operator, targets, shape)
    if model.name == "levels" and isinstance(operator, HistogramOperator):
        return LevelCriterion(operator, targets, shape, name)
    matrices = MATRICES + (len(operator.channels) if isinstance(operator, SumOperator) else 0)
    fits = 8.0 * matrices * len(operator) ** 2 <= model.max_memory
    if len(operator) > SAMPLE_ROWS and (model.name == "iterative" or not fits):
        return _sampled(model, name)
    return DualCriterion(operator, targets, shape, name)


def _sampled(model: LabelRegression, name: CriterionName) -> Criterion:
    """The criterion of rows spread evenly over all."""
    rows = np.linspace(0, len(model.labels) - 1, SAMPLE_ROWS).astype(np.int64)
    targets = one_vs_all(model.labels[rows], model.n_classes)
    return DualCriterion(model.operator.only(rows), targets, model.noise_shape()[rows], name)


def in_units(criterion: Criterion, units: Units) -> Criterion:
    """The criterion for kernels in units of the data."""

    def evaluate(kernel: Kernel, noise: float, *, gradient: bool = False) -> Evaluation:
        found = criterion(units.true(kernel), noise, gradient=gradient)
        return found if found.by_theta is None else replace(found, by_theta=units.pull_back(kernel, found.by_theta))

    return evaluate


def with_prior(criterion: Criterion, name: CriterionName, n_values: int) -> Criterion:
    """The criterion of a sum of kernels in units, with a weak prior on what few labels leave open.

    Log-normal: weights around their geometric mean, gamma around 1 and the noise around a tenth of the mean of k(x, x).
    Leave-one-out error counts by its logarithm, as n_values residuals of one variance do.
    """

    def evaluate(kernel: Kernel, noise: float, *, gradient: bool = False) -> Evaluation:
        found = criterion(kernel, noise, gradient=gradient)
        if not isinstance(kernel, SumKernel):
            return found
        weights = np.maximum(kernel.weights, np.finfo(float).tiny)
        ratios = (np.log(weights) - np.log(weights).mean()) / WIDE**2
        size = np.log(noise / weights.sum() / TYPICAL_NOISE) / WIDE**2
        by = dict.fromkeys(kernel.names, 0.0)
        by |= {f"weight[{c}]": 2 * ratios[c] / weights[c] - 2 * size / weights.sum() for c in range(len(weights))}
        total = (float((ratios**2).sum()) + size**2) * WIDE**2
        for number, own in enumerate(kernel.channels):
            if isinstance(own, RBFKernel):
                total += float(np.log(own.gamma)) ** 2 / GAMMA_WIDE**2
                by[f"gamma[{number}]"] = 2 * np.log(own.gamma) / own.gamma / GAMMA_WIDE**2
        factor = found.value / n_values if name == "loo" else 0.5
        if found.by_theta is None:
            return replace(found, value=found.value + factor * total)
        by_theta = found.by_theta + factor * np.array(list(by.values()))
        return replace(
            found,
            value=found.value + factor * total,
            by_theta=by_theta if name != "loo" else by_theta + found.by_theta * total / n_values,
            by_log_noise=(found.by_log_noise or 0.0) * (1.0 + (total / n_values if name == "loo" else 0.0))
            + 2 * factor * size,
        )

    return evaluate


def free_parameters(kernel: Kernel, *, weights: bool) -> tuple[str, ...]:
    """What a search moves: the noise, what the kernel says, and weights if asked for or if they are of channels."""
    weighted = weights or isinstance(kernel, SumKernel)
    return ("noise", *kernel.searched, *(name for name in kernel.names if weighted and name.startswith("weight")))


def starts(
    criterion: Criterion,
    units: Units,
    settings: Given | None,
    now: Given,
    free: tuple[str, ...],
    on_step: Callable[[], object] = lambda: None,
) -> list[Setting]:
    """Where searches begin: at what an earlier search found, and at the settings, whose numbers are meant in units."""
    kernel, noise = settings or now
    origin = best_noise(criterion, Setting(units.start(kernel), noise, free), on_step)
    if settings is None or (noise == now[1] and np.array_equal(kernel.theta, now[0].theta)):
        return [origin]
    last = Setting(*units.plain(*now), free)
    return [last] if last.is_near(origin) else [last, origin]


def bounds_met(units: Units, setting: Setting, amplitude: float) -> tuple[AtBound, ...]:
    """Parameters that ended at a bound, with their values."""
    kernel, noise = units.true(setting.kernel).scaled(amplitude), setting.noise * amplitude
    values = dict(zip(setting.names, (*kernel.theta, noise), strict=True))
    return tuple(AtBound(name, float(values[name]), bound, bound > 1.0) for name, bound in setting.at_bounds)


def tune(
    model: LabelRegression,
    name: CriterionName = "loo",
    *,
    settings: Given | None = None,
    weights: bool = False,
    simplex: Floats | None = None,
    l1: float = 0.0,
    l2: float = 0.0,
    on_step: Callable[[], object] = lambda: None,
) -> Tuned:
    """Search from where the model is and from the settings, take the better end, and leave the model as it is.

    `settings` are kernel and noise as they are set; without them the model has them still. Few parameters are found by
    a simplex, which may start from that of the last search; weights by L-BFGS. `on_step` is called before each
    evaluation; what it raises ends the search.
    """
    now = model.operator.kernel, model.noise
    units = Units.of([model.operator], (settings or now)[0])
    free = free_parameters(now[0], weights=weights)
    weights = weights or isinstance(now[0], SumKernel)
    # A search on a sample finds the neighbourhood of the optimum at a small part of the cost.
    many = name != "bound" and len(model.labels) > 2 * SAMPLE_ROWS
    values = len(model.labels) * max(model.n_classes - 1, 1)  # the targets of a row sum to the same number
    criterion = with_prior(in_units(criterion_for(model, name), units), name, values)
    few = with_prior(in_units(_sampled(model, name), units), name, values) if many else criterion
    begins, spent = starts(few, units, settings, now, free, on_step), len(LADDER)
    if weights and many:
        rough = [gradient_search(few, start, l1=l1, l2=l2, on_step=on_step) for start in begins]
        best, spent = min(rough, key=_value), spent + sum(one.evaluations for one in rough)
        ends = [gradient_search(criterion, best.setting, l1=l1, l2=l2, on_step=on_step)]
    elif weights:
        ends = [gradient_search(criterion, start, l1=l1, l2=l2, on_step=on_step) for start in begins]
    elif many:
        rough = [simplex_search(few, start, on_step=on_step) for start in begins]
        best, spent = min(rough, key=_value), spent + sum(one.evaluations for one in rough)
        ends = [simplex_search(criterion, best.setting, best.simplex, on_step=on_step)]
    else:
        # The last simplex belongs to the last end, which is the first of the starts.
        pairs = zip(begins, (simplex, None), strict=False)
        ends = [simplex_search(criterion, *pair, on_step=on_step) for pair in pairs]
    found, spent = min(ends, key=_value), spent + sum(one.evaluations for one in ends)
    amplitude = found.evaluation.amplitude
    if not (np.isfinite(amplitude) and amplitude > 0.0):
        amplitude = 1.0
    setting = found.setting
    noise = setting.noise
    if isinstance(setting.kernel, SumKernel):  # weights have a scale of their own, which bounds know nothing of
        noise = max(noise, NOISE_BOUNDS[0] * float(setting.kernel.weights.sum()))
    return Tuned(
        units.true(setting.kernel).scaled(amplitude),
        noise * amplitude,
        name,
        found.evaluation.value,
        spent,
        found.simplex,
        bounds_met(units, setting, amplitude),
    )


def _value(found: Found) -> float:
    return found.value
