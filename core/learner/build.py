"""What a training chooses before it fits: kernel, model and likelihood, by what is labelled."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from core._types import Indices, Table
from core.classes import Nodes
from core.factory import make_operator, make_reader
from core.learner.record import Labelling
from core.models.parameters import Parameters
from core.models.registry import likelihood_in_use, with_kernel
from core.probabilities import Likelihood
from core.selection.compare import Verdict
from core.selection.kernel import Choice, choose_kernel, first_kernel
from core.selection.levels import choose_levels
from core.selection.likelihood import MEASURE, MIN_LABELS, choose_likelihood
from core.selection.model import choose_model, least_labels
from core.settings import Settings
from core.tables import Reader

MIN_CHOICE_LABELS = 10  # labels to choose a kernel by
MILD_VARIANCE = 10.0  # of class functions under the softmax likelihood


@dataclass(frozen=True, eq=False)
class Choices:
    """What was decided in a training, and by how much; None where it was not up to it, or too early."""

    kernel: Choice | None = None
    model: Verdict | None = None
    likelihood: Verdict | None = None


def choose(
    settings: Settings,
    x: Table,
    labelling: Labelling,
    on_step: Callable[[], object],
    *,
    in_parts: bool = False,
) -> tuple[Parameters, Choices]:
    """Parameters with all that the settings leave open chosen again, where labels have doubled since.

    A pool that is `in_parts` has label regression alone.
    """
    parameters, kernel, model, likelihood = labelling.parameters, None, None, None
    if "auto" not in (settings.kernel, settings.model, settings.levels, settings.likelihood):
        return parameters, Choices()
    nodes = Nodes(labelling.classes, labelling.parents)
    number = {name: number for number, name in enumerate(nodes.classes)}  # label regression knows no tree
    labels = {item: number[name] for item, name in labelling.labels.items() if name in number}
    known = x, list(labels), np.array(list(labels.values()), dtype=np.int64), len(number)
    parameters = _choose_levels(settings, parameters, *known)
    if settings.kernel == "auto":
        parameters, kernel = _choose_kernel(settings, parameters, *known, on_step)
    if settings.model == "auto":
        parameters, model = _choose_model(settings, parameters, *known, on_step)
    if settings.leaves_likelihood:
        parameters, likelihood = _choose_likelihood(settings, parameters, *known, on_step, in_parts=in_parts)
    return parameters, Choices(kernel, model, likelihood)


def _choose_levels(
    settings: Settings, parameters: Parameters, x: Table, items: list[int], labels: Indices, n_classes: int
) -> Parameters:
    """The rule for levels, where so many labels make level space the quicker one. Once few, they stay few."""
    regression = likelihood_in_use(settings, parameters) == "gaussian"
    plain = with_kernel(settings, parameters.kernel) if regression else settings
    is_open = settings.levels == "auto" and parameters.levels != "few" and plain.kernel == "hik"
    if not is_open or len(np.unique(labels)) < 2:
        return parameters
    rule, _ = choose_levels(plain, Reader(histograms=False, complement=None).check(x[items]), labels, n_classes)
    return replace(parameters, levels=rule)


def _choose_kernel(
    settings: Settings,
    parameters: Parameters,
    x: Table,
    items: list[int],
    labels: Indices,
    n_classes: int,
    on_step: Callable[[], object],
) -> tuple[Parameters, Choice | None]:
    """The kernel by the labelled items of x, if there are enough of them and twice as many as the last time."""
    if len(np.unique(labels)) < 2 or len(labels) < max(MIN_CHOICE_LABELS, 2 * parameters.decided_at):
        return parameters, None
    known = Reader(histograms=False, complement=None).check(x[items])
    choice = choose_kernel(settings, known, labels, n_classes, parameters.kernel, x.shape[0], on_step)
    regression = likelihood_in_use(settings, parameters) == "gaussian"
    noise = choice.noise if regression else _mild_noise(choice, known)
    theta = (*map(float, choice.kernel.theta), noise)
    same = parameters if choice.name == parameters.kernel else replace(parameters, trees=(), grown_at=0)
    return replace(same, kernel=choice.name, decided_at=len(labels), theta=theta), choice


def _choose_model(
    settings: Settings,
    parameters: Parameters,
    x: Table,
    items: list[int],
    labels: Indices,
    n_classes: int,
    on_step: Callable[[], object],
) -> tuple[Parameters, Verdict | None]:
    """The model by the labelled items of x, if there are enough of them and twice as many as the last time."""
    if len(np.unique(labels)) < 2 or len(labels) < max(least_labels(settings), 2 * parameters.compared_at):
        return parameters, None
    kernel = parameters.kernel or (first_kernel(settings, x) if settings.kernel == "auto" else None)
    known = Reader(histograms=False, complement=None).check(x[items])
    choice = choose_model(with_kernel(settings, kernel), known, labels, n_classes, parameters.model, on_step)
    if choice.name != parameters.model:
        parameters = replace(parameters, trees=(), grown_at=0)
    return replace(parameters, model=choice.name, compared_at=len(labels)), choice


def _choose_likelihood(
    settings: Settings,
    parameters: Parameters,
    x: Table,
    items: list[int],
    labels: Indices,
    n_classes: int,
    on_step: Callable[[], object],
    *,
    in_parts: bool,
) -> tuple[Parameters, Verdict | None]:
    """The likelihood by the labelled items of x, if there are enough of them and twice as many as the last time."""
    before = likelihood_in_use(settings, parameters)
    if len(np.unique(labels)) < 2 or len(labels) < max(MIN_LABELS, 2 * parameters.weighed_at):
        return parameters, None
    parameters = replace(parameters, weighed_at=len(labels))
    if in_parts:
        choice, given = Verdict("gaussian", MEASURE, reason="pools in parts have label regression alone"), None
    else:
        kernel = parameters.kernel or (first_kernel(settings, x) if settings.kernel == "auto" else None)
        known = Reader(histograms=False, complement=None).check(x[items])
        plain = with_kernel(settings, kernel)
        choice, given = choose_likelihood(plain, known, labels, n_classes, before, x.shape[0], on_step)
    likelihood: Likelihood = "softmax" if choice.name == "softmax" else "gaussian"
    if likelihood == before:
        return replace(parameters, likelihood=likelihood), choice
    theta = None if given is None else (*map(float, given[0].theta), given[1])
    return replace(parameters, likelihood=likelihood, theta=theta, sharpness=None), choice


def _mild_noise(choice: Choice, x: Table) -> float:
    """Where the search for that of the softmax likelihood begins: the noise of regression says nothing of it."""
    operator = make_operator(choice.settings, x, make_reader(choice.settings, x))
    operator = operator.with_kernel(choice.kernel)
    swing = float(operator.diagonal(operator.training_rows(np.arange(len(operator)))).mean())
    return swing / MILD_VARIANCE
