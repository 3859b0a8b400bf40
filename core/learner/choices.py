"""What a training chooses before it fits: kernel, model and likelihood, by what is labelled."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from core._types import Indices, Table
from core.classes import Nodes
from core.factory import make_operator, make_reader
from core.learner.record import Labelling
from core.models.parameters import Parameters
from core.models.registry import likelihood_in_use, regression_settings
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
    is_tuned: bool = False  # whether the comparison has found the hyperparameters of what is in use


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
    parameters, kernel, model, likelihood, is_tuned = labelling.parameters, None, None, None, False
    if "auto" not in (settings.kernel, settings.model, settings.levels, settings.likelihood):
        return parameters, Choices()
    known = LabelledRows.of(x, labelling)
    parameters = _choose_levels(settings, parameters, known)
    if settings.kernel == "auto":
        parameters, kernel = _choose_kernel(settings, parameters, known, on_step)
    if settings.model == "auto":
        parameters, model = _choose_model(settings, parameters, known, on_step)
    if settings.leaves_likelihood:
        parameters, likelihood = _choose_likelihood(settings, parameters, known, on_step, in_parts=in_parts)
        is_plain = all(factor == 1.0 for factor in labelling.noise_factors.values())  # as the comparison takes them
        is_tuned = likelihood is not None and likelihood.name == "softmax" and is_plain
    return parameters, Choices(kernel, model, likelihood, is_tuned)


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """What choices are made by: n labelled items of all rows x."""

    x: Table
    items: list[int]  # n
    labels: Indices  # n; label regression knows no tree
    n_classes: int

    @classmethod
    def of(cls, x: Table, labelling: Labelling) -> "LabelledRows":
        """Labels of classes that nothing is a kind of."""
        nodes = Nodes(labelling.classes, labelling.parents)
        number = {name: number for number, name in enumerate(nodes.classes)}
        labels = {item: number[name] for item, name in labelling.labels.items() if name in number}
        return cls(x, list(labels), np.array(list(labels.values()), dtype=np.int64), len(number))

    def __len__(self) -> int:
        return len(self.items)

    @property
    def rows(self) -> Table:
        """Those of the labelled items."""
        return Reader(histograms=False, complement=None).check(self.x[self.items])

    @property
    def has_classes(self) -> bool:
        """Whether there is anything to tell apart."""
        return len(np.unique(self.labels)) > 1

    def are_enough(self, least: int, before: int) -> bool:
        """Whether it is time to choose: so many labels, and twice as many as the last time."""
        return self.has_classes and len(self) >= max(least, 2 * before)


def _choose_levels(settings: Settings, parameters: Parameters, known: LabelledRows) -> Parameters:
    """The rule for levels, where so many labels make level space the quicker one. Once few, they stay few."""
    regression = likelihood_in_use(settings, parameters) == "gaussian"
    plain = regression_settings(settings, parameters.kernel) if regression else settings
    is_open = settings.levels == "auto" and parameters.levels != "few" and plain.kernel == "hik"
    if not is_open or not known.has_classes:
        return parameters
    rule, _ = choose_levels(plain, known.rows, known.labels, known.n_classes)
    return replace(parameters, levels=rule)


def _choose_kernel(
    settings: Settings, parameters: Parameters, known: LabelledRows, on_step: Callable[[], object]
) -> tuple[Parameters, Choice | None]:
    if not known.are_enough(MIN_CHOICE_LABELS, parameters.kernel_chosen_at):
        return parameters, None
    rows, size = known.rows, known.x.shape[0]
    choice = choose_kernel(settings, rows, known.labels, known.n_classes, parameters.kernel, size, on_step)
    regression = likelihood_in_use(settings, parameters) == "gaussian"
    noise = choice.noise if regression else _mild_noise(choice, rows)
    theta = (*map(float, choice.kernel.theta), noise)
    same = parameters if choice.name == parameters.kernel else replace(parameters, trees=(), grown_at=0)
    return replace(same, kernel=choice.name, kernel_chosen_at=len(known), theta=theta), choice


def _choose_model(
    settings: Settings, parameters: Parameters, known: LabelledRows, on_step: Callable[[], object]
) -> tuple[Parameters, Verdict | None]:
    if not known.are_enough(least_labels(settings), parameters.model_chosen_at):
        return parameters, None
    plain = _with_kernel(settings, parameters, known)
    choice = choose_model(plain, known.rows, known.labels, known.n_classes, parameters.model, on_step)
    if choice.name != parameters.model:
        parameters = replace(parameters, trees=(), grown_at=0)
    return replace(parameters, model=choice.name, model_chosen_at=len(known)), choice


def _choose_likelihood(
    settings: Settings, parameters: Parameters, known: LabelledRows, on_step: Callable[[], object], *, in_parts: bool
) -> tuple[Parameters, Verdict | None]:
    if not known.are_enough(MIN_LABELS, parameters.likelihood_chosen_at):
        return parameters, None
    before = likelihood_in_use(settings, parameters)
    parameters = replace(parameters, likelihood_chosen_at=len(known))
    if in_parts:
        choice, found = Verdict("gaussian", MEASURE, reason="pools in parts have label regression alone"), None
    else:
        plain, size = _with_kernel(settings, parameters, known), known.x.shape[0]
        choice, found = choose_likelihood(plain, known.rows, known.labels, known.n_classes, before, size, on_step)
    likelihood: Likelihood = "softmax" if choice.name == "softmax" else "gaussian"
    if likelihood == before == "gaussian":  # a search on all labels follows, from where the last one ended
        return replace(parameters, likelihood=likelihood), choice
    theta, warnings = None, parameters.warnings
    if found is not None:
        theta, warnings = (*map(float, found.kernel.theta), found.noise), tuple(map(str, found.at_bounds))
    sharpness = parameters.sharpness if likelihood == before else None
    return replace(parameters, likelihood=likelihood, theta=theta, warnings=warnings, sharpness=sharpness), choice


def _with_kernel(settings: Settings, parameters: Parameters, known: LabelledRows) -> Settings:
    """Settings with the kernel in use, where it is left open."""
    kernel = parameters.kernel or (first_kernel(settings, known.x) if settings.kernel == "auto" else None)
    return regression_settings(settings, kernel)


def _mild_noise(choice: Choice, x: Table) -> float:
    """Where the search for that of the softmax likelihood begins: the noise of regression says nothing of it."""
    operator = make_operator(choice.settings, x, make_reader(choice.settings, x))
    operator = operator.with_kernel(choice.kernel)
    swing = float(operator.diagonal(operator.training_rows(np.arange(len(operator)))).mean())
    return swing / MILD_VARIANCE
