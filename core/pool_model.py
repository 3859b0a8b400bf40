"""The model over a pool: how items are read, the kernel in use, and the labelled pool; class numbers, not names."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from core import snapshot
from core._types import Floats, Indices, Table
from core.choice import Choice, candidate, candidates, choose_kernel, first_kernel
from core.drafts import Drafted, all_or_nothing
from core.evidence import tune
from core.forest import LabelledForest
from core.histograms import Allocate, Chunked, Engine
from core.labelling import Parameters, nothing
from core.linalg import AtBound, HistogramOperator, Operator
from core.model_choice import ModelChoice, choose_model, least_labels
from core.posterior import LabelledPool, LocalParts, Parts, PoolPosterior
from core.posterior.parts import Checked, Coding
from core.questions import AnyPool
from core.settings import Reader, Settings
from core.softmax import ClassTree, LabelledSoftmax

LEAST_LABELS = 4  # to learn hyperparameters from
LEAST_CHOICE = 10  # to choose a kernel by
MILD_VARIANCE = 10.0  # of class functions under the softmax likelihood


@dataclass(eq=False)
class PoolModel(Drafted):
    """Fixed by the first items: which numbers may come (reader), how many columns (width), which kernel."""

    settings: Settings  # as the user gave them
    kernel: str | None  # the candidate in use, where the settings leave the choice
    decided_at: int  # labels it was chosen on
    reader: Reader
    width: int
    labelled: AnyPool
    compared_at: int = 0  # labels that the model was chosen on, where the settings leave that
    simplex: Floats | None = None  # of the last search
    warnings: tuple[str, ...] = ()  # of the last training

    @classmethod
    def begin(
        cls,
        settings: Settings,
        parameters: Parameters,
        x: Table,
        tree: ClassTree,
        allocate: Allocate = np.empty,
        engine: Engine | None = None,
    ) -> "PoolModel":
        """Without labels; levels and scales are those of these items, which are kept in arrays made by `allocate`.

        With an engine a table that is read in chunks is read where it works, and stays there if the model can live in
        parts.
        """
        if isinstance(x, Chunked):
            x = replace(x, engine=engine)
        rough = settings.kernel == "hik" and not (settings.complement or settings.split)
        x = Reader(rough, None).check(x)
        if settings.kernel == "auto" and parameters.kernel not in candidates(settings, x, x.shape[0]):
            parameters = Parameters(
                first_kernel(settings, x), model=parameters.model, compared_at=parameters.compared_at
            )
        kernel = parameters.kernel
        plain = _plain(settings, kernel)
        reader = plain.reader(x)
        if plain.complement and not (reader.complement and (reader.complement.high > reader.complement.low).any()):
            raise ValueError("complement=True needs first items that differ: their range is the scale")
        forest = (parameters.model or settings.model) == "forest"
        in_parts = plain.lives_in_parts and settings.lives_in_parts and not forest
        far = isinstance(x, Chunked) and x.engine is not None and in_parts
        operator = plain.operator(x, reader, allocate, rows=not far)
        noises = [float(settings.noise)]
        if parameters.theta is not None:
            width = len(operator.kernel.theta)
            operator = operator.with_kernel(operator.kernel.with_theta(np.array(parameters.theta[:width])))
            noises = list(parameters.theta[width:])
        labelled: AnyPool
        rows = operator.own(np.arange(len(operator)))
        operator.check(rows)
        if settings.likelihood == "softmax":
            labelled = LabelledSoftmax.begin(operator, rows, tree, noises, settings.max_memory)
        elif forest:
            trees, grown_at = parameters.trees, parameters.grown_at
            labelled = LabelledForest.begin(plain, operator, rows, noises[0], tree.n_classes, trees, grown_at)
        else:
            parts = _coded(reader.coded(x), operator) if far else LocalParts.of(rows)
            model = replace(plain, noise=noises[0]).regression(operator.only(nothing()), nothing(), tree.n_classes)
            labelled = LabelledPool(model, PoolPosterior(model.posterior, parts))
        decided_at, compared_at, warnings = parameters.decided_at, parameters.compared_at, parameters.warnings
        return cls(settings, kernel, decided_at, reader, x.shape[1], labelled, compared_at, warnings=warnings)

    def draft(self) -> Self:
        """A twin (see core.drafts)."""
        twin = super().draft()
        twin.labelled = self.labelled.draft()
        return twin

    @property
    def model(self) -> str:
        """The one in use: gp or forest."""
        return "forest" if isinstance(self.labelled, LabelledForest) else "gp"

    @property
    def parameters(self) -> Parameters:
        """What training found so far."""
        found = Parameters(self.kernel, self.decided_at, tuple(self.hyperparameters.values()), warnings=self.warnings)
        if self.settings.model == "auto":
            found = replace(found, model=self.model, compared_at=self.compared_at)
        if isinstance(self.labelled, LabelledForest):
            found = replace(found, trees=self.labelled.grown, grown_at=self.labelled.grown_at)
        return found

    @property
    def hyperparameters(self) -> dict[str, float]:
        """Kernel parameters and noise in use, by name."""
        return self.labelled.hyperparameters

    def read(self, x: Table) -> Any:
        """A table as a query, or a ValueError that says what does not fit."""
        if x.shape[1] != self.width:
            raise ValueError(f"rows have {x.shape[1]} columns; the first items had {self.width}")
        return self.reader(self.reader.check(x))

    @all_or_nothing
    def tune(self, on_step: Callable[[], object]) -> bool:
        """Find hyperparameters and use them; False if there is too little to learn them from."""
        labelled = self.labelled
        if len(np.unique(labelled.numbers)) < 2 or len(labelled.numbers) < LEAST_LABELS:
            return False
        at_bounds = self._tune(_plain(self.settings, self.kernel), on_step)
        if at_bounds is None:
            return False
        self.warnings = tuple(map(str, at_bounds))
        return True

    def _tune(self, plain: Settings, on_step: Callable[[], object]) -> tuple[AtBound, ...] | None:
        labelled = self.labelled
        if isinstance(labelled, LabelledForest):
            return labelled.tune(plain, on_step)
        if isinstance(labelled, LabelledSoftmax):
            return labelled.tune(plain.tune_weights, on_step, plain.untuned(labelled.model.operator))
        criterion = self.settings.tune
        found = tune(
            labelled.model,
            "loo" if criterion is None or criterion == "cv" else criterion,
            settings=plain.untuned(labelled.operator),
            weights=plain.tune_weights,
            simplex=self.simplex,
            l1=plain.l1,
            l2=plain.l2,
            on_step=on_step,
        )
        self.simplex = found.simplex
        labelled.reset(found.kernel, found.noise)
        return found.at_bounds

    @all_or_nothing
    def renumber(self, renumber: Indices, tree: ClassTree) -> None:
        """Old nodes have these numbers in another tree: classes come, move or are merged."""
        if isinstance(self.labelled, LabelledSoftmax):
            self.labelled.renumber(renumber, tree)
        else:
            self.labelled.renumber(renumber, tree.n_classes)

    def state(self, *, warm: bool) -> dict[str, NDArray[Any]]:
        """Everything but the settings as plain arrays; `warm` with what a fit may start from."""
        return {
            **snapshot.dump(self.labelled, self.reader, warm=warm),
            "kernel": np.array(self.kernel or ""),
            "decided_at": np.array(self.decided_at),
            "width": np.array(self.width),
            "compared_at": np.array(self.compared_at),
            "warnings": np.array(self.warnings, dtype=np.str_),
        }

    @classmethod
    def restore(
        cls, settings: Settings, state: Mapping[str, NDArray[Any]], tree: ClassTree, allocate: Allocate = np.empty
    ) -> "PoolModel":
        """The model that gave this state, under the settings it had; the posterior is solved from scratch."""
        kernel = str(state["kernel"]) or None
        plain = _plain(settings, kernel)
        labelled: AnyPool
        if settings.likelihood == "softmax":
            labelled, reader = snapshot.load_softmax(plain, state, tree, allocate)
        elif "tree_sizes" in state:
            labelled, reader = snapshot.load_forest(plain, state, tree.n_classes, allocate)
        else:
            labelled, reader = snapshot.load(plain, state, tree.n_classes, allocate)
        decided_at, width, compared_at = (int(state[name]) for name in ("decided_at", "width", "compared_at"))
        warnings = tuple(state["warnings"].tolist())
        return cls(settings, kernel, decided_at, reader, width, labelled, compared_at, warnings=warnings)


def chosen(
    settings: Settings, parameters: Parameters, x: Table, items: list[int], labels: Indices, n_classes: int
) -> tuple[Parameters, Choice | None]:
    """The kernel by the labelled items of x, if there are enough of them and twice as many as the last time."""
    if len(np.unique(labels)) < 2 or len(labels) < max(LEAST_CHOICE, 2 * parameters.decided_at):
        return parameters, None
    known = Reader(histograms=False, complement=None).check(x[items])
    choice = choose_kernel(settings, known, labels, n_classes, parameters.kernel, x.shape[0])
    noise = choice.noise if settings.likelihood == "gaussian" else _mild_noise(choice, known)
    theta = (*map(float, choice.kernel.theta), noise)
    same = parameters if choice.name == parameters.kernel else replace(parameters, trees=(), grown_at=0)
    return replace(same, kernel=choice.name, decided_at=len(labels), theta=theta), choice


def compared(
    settings: Settings,
    parameters: Parameters,
    x: Table,
    items: list[int],
    labels: Indices,
    n_classes: int,
    on_step: Callable[[], object],
) -> tuple[Parameters, ModelChoice | None]:
    """The model by the labelled items of x, if there are enough of them and twice as many as the last time."""
    if len(np.unique(labels)) < 2 or len(labels) < max(least_labels(settings), 2 * parameters.compared_at):
        return parameters, None
    kernel = parameters.kernel or (first_kernel(settings, x) if settings.kernel == "auto" else None)
    known = Reader(histograms=False, complement=None).check(x[items])
    choice = choose_model(_plain(settings, kernel), known, labels, n_classes, parameters.model, on_step)
    if choice.name != parameters.model:
        parameters = replace(parameters, trees=(), grown_at=0)
    return replace(parameters, model=choice.name, compared_at=len(labels)), choice


def _mild_noise(choice: Choice, x: Table) -> float:
    """Where the search for that of the softmax likelihood begins: the noise of regression says nothing of it."""
    operator = choice.settings.operator(x, choice.settings.reader(x))
    operator = operator.with_kernel(choice.kernel)
    swing = float(operator.diagonal(operator.own(np.arange(len(operator)))).mean())
    return swing / MILD_VARIANCE


def _coded(x: Chunked, operator: Operator) -> Parts:
    """The rows of a table, coded where its engine works."""
    assert isinstance(operator, HistogramOperator)
    assert x.engine is not None
    parts: Parts = x.engine.parts(x, Coding(operator.levels))
    parts.collect(Checked(operator))
    return parts


def _plain(settings: Settings, kernel: str | None) -> Settings:
    """With a kernel, and as label regression reads rows."""
    return replace(settings, likelihood="gaussian") if kernel is None else candidate(settings, kernel)
