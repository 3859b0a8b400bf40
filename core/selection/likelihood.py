"""Which likelihood: label regression or softmax, by the log loss of held-out labels and the time of an answer."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.special import log_softmax

from core._types import Floats, Indices, Table
from core.classes import ClassTree
from core.factory import make_operator, make_reader, make_regression
from core.linalg import AtBound, HistogramOperator, Operator, SumOperator
from core.posterior import LabelRegression
from core.posterior.speed import ENTRY, GATHER, SOLVE
from core.rows import vectors
from core.selection.compare import Verdict, compare
from core.settings import Settings
from core.softmax import (
    Prior,
    SoftmaxRegression,
    TunedPrior,
    centred,
    depth_prior,
    find_variances,
    laplace_posterior,
    left_out,
)
from core.tuning import (
    CriterionName,
    Given,
    Tuned,
    earlier_predictions,
    find_sharpness,
    leave_one_out,
    mean_gap,
    raise_noise,
    tune,
)

MEASURE = "log loss of later labels"
MIN_LABELS = 50  # with fewer there is nothing to decide by
COMPARED_ROWS = 600
KERNEL_ROWS = 1000  # that tell the kernel of class functions
ANSWER_SECONDS = 0.3  # that a label may take under the softmax likelihood, by the cost model
PRODUCTS = 80  # of the kernel matrix in a fit that starts from the last
READ = 1.0  # nanoseconds, of an entry of that matrix; columns are multiplied meanwhile, at twice the cost of large ones
MAX_VARIANCE = 1e3  # of a function: a few labels that are easy to tell apart would have it without end


def choose_likelihood(
    settings: Settings,
    x: Table,
    labels: Indices,
    n_classes: int,
    incumbent: str | None = None,
    n_items: int = 0,
    on_step: Callable[[], object] = lambda: None,
) -> tuple[Verdict, Tuned | None]:
    """Compare both on (a sample of) the labelled rows, in the order they came; and kernel and noise of what won.

    Each row of the second half is predicted by a model of the first. Labels that were asked for mislead here, too,
    where each is predicted by later ones: that favours what is too sure. Both have the kernel that label regression
    finds best, and the sharpness of their leave-one-out predictions; softmax has variances besides. The likelihood in
    use, label regression at first, stays unless the other is better by two standard errors of the paired differences.
    Softmax is left out where a label would take too long in a pool of `n_items`.
    """
    rows = np.unique(np.linspace(0, len(labels) - 1, COMPARED_ROWS).astype(np.int64))
    some, numbers = x[rows], labels[rows]
    operator = make_operator(settings, some, make_reader(settings, some))
    seconds = label_seconds(operator, len(labels), n_items, n_classes)
    if seconds > ANSWER_SECONDS:
        reason = f"under softmax a label would take some {1000.0 * seconds:.0f} ms"
        return Verdict("gaussian", MEASURE, reason=reason), None
    model = make_regression(settings, operator, numbers, n_classes)
    found = tune(model, _criterion(settings), weights=settings.tune_weights, on_step=on_step)
    model.reset(found.kernel, found.noise)
    variances = softmax_variances(model, on_step)
    on_step()
    by_softmax = _softmax_losses(model, variances.prior)
    if _criterion(settings) == "loo":
        raise_noise(model, on_step)
    winner, contenders = compare({"gaussian": _regression_losses(model), "softmax": by_softmax}, incumbent)
    if winner == "softmax":
        kernel, noise = in_use(variances.prior)
        bounds = _of_kernel(found.at_bounds) + variances.at_bounds
        found = replace(found, kernel=kernel, noise=noise, at_bounds=bounds)
    return Verdict(winner, MEASURE, contenders), found


def regression_kernel(
    settings: Settings, model: LabelRegression, given: Given, on_step: Callable[[], object]
) -> tuple[AtBound, ...]:
    """Give the model the kernel and noise that are best for label regression; what ended at a bound."""
    found = tune(model, _criterion(settings), settings=given, weights=settings.tune_weights, on_step=on_step)
    model.reset(found.kernel, found.noise)
    return _of_kernel(found.at_bounds)


def softmax_variances(model: LabelRegression, on_step: Callable[[], object], last: Prior | None = None) -> TunedPrior:
    """Those of class functions under the kernel of a label regression, on its rows; `last` is what a search found."""
    kernel, counts = model.operator.kernel, 1.0 / model.noise_factors
    prior = depth_prior(ClassTree.flat(model.n_classes), replace(kernel, bias=0.0), kernel.bias, [model.noise])
    return find_variances(
        model.operator, model.labels, prior, last=last, counts=counts, most=MAX_VARIANCE, on_step=on_step
    )


def in_use(prior: Prior) -> Given:
    """The kernel and the noise of a flat prior, as settings have them."""
    variance = float(prior.variances[0])
    return replace(prior.kernels[0], bias=prior.intercept / variance), 1.0 / variance


def label_seconds(operator: Operator, n_labels: int, n_items: int, n_classes: int) -> float:
    """What a label takes under softmax, by the cost model: products of the kernel matrix, and the means of all items.

    `operator` has rows like those of the pool.
    """
    channels = operator.channels if isinstance(operator, SumOperator) else (operator,)
    means = sum(_means_cost(channel, n_labels, n_items, n_classes) for channel in channels)
    return float(means + PRODUCTS * n_labels**2 * (READ + 2 * n_classes * SOLVE)) / 1e9


def _means_cost(operator: Operator, n_labels: int, n_items: int, n_classes: int) -> float:
    if isinstance(operator, HistogramOperator):
        entries = (n_items + 2 * n_labels) * operator.rows.nnz / max(len(operator), 1)
        return float((entries + len(operator.levels)) * n_classes * GATHER)
    width = vectors(operator.training_rows(np.arange(min(len(operator), 1)))).shape[1]
    return float(n_items * n_labels * (ENTRY + (width + n_classes) * SOLVE))


def _of_kernel(at_bounds: tuple[AtBound, ...]) -> tuple[AtBound, ...]:
    """Without the noise of label regression, which softmax has no use for."""
    return tuple(one for one in at_bounds if one.parameter != "noise")


def _criterion(settings: Settings) -> CriterionName:
    rule = None if settings.tune == "none" else settings.tune
    return "loo" if rule is None or rule == "cv" else rule


def _regression_losses(model: LabelRegression) -> Floats:
    """-log P(label) of the second half by the first."""
    means = earlier_predictions(model)[1]
    sharpness = find_sharpness(leave_one_out(model)[0], model.labels, mean_gap(means))
    return _losses(sharpness * means, model.labels)


def _softmax_losses(model: LabelRegression, prior: Prior) -> Floats:
    """The same, of class functions over the rows of a label regression."""
    labels, half = model.labels, len(model.labels) // 2
    whole = SoftmaxRegression(model.operator, labels, prior, keeps_matrix=True)
    first = SoftmaxRegression(whole.operator.only(np.arange(half)), labels[:half], prior, keeps_matrix=True)
    means = centred(first.latents(model.operator.training_rows(np.arange(half, len(labels)))))
    left = left_out(whole, laplace_posterior(whole))
    return _losses(find_sharpness(left, labels, mean_gap(means)) * means, labels)


def _losses(latents: Floats, labels: Indices) -> Floats:
    """Of the last rows, whose latents these are."""
    own = labels[len(labels) - len(latents) :]
    return np.asarray(-log_softmax(latents, axis=1)[np.arange(len(own)), own])
