"""The model in use: made from settings and first items, or restored from plain arrays."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from core._types import Arrays, Table
from core.classes import ClassTree
from core.drafts import Drafted, all_or_nothing
from core.factory import make_operator, make_reader
from core.histograms import Allocate, Chunked, Engine, LevelRule
from core.linalg import Operator
from core.models import snapshot
from core.models.base import PoolModel
from core.models.forest import ForestPool
from core.models.gaussian import GaussianPool
from core.models.parameters import Parameters
from core.models.softmax import SoftmaxPool
from core.posterior import LocalParts, Parts
from core.posterior.parts import Checked, Encoding
from core.probabilities import Likelihood
from core.rows import Rows
from core.selection.kernel import candidate, candidates, first_kernel
from core.settings import Settings
from core.tables import AnyReader, Reader, readers_of

MIN_LABELS = 4  # to tune hyperparameters on


MODELS: dict[str, type[GaussianPool | SoftmaxPool | ForestPool]] = {
    "gaussian": GaussianPool,
    "softmax": SoftmaxPool,
    "forest": ForestPool,
}


@dataclass(eq=False)
class ModelInUse(Drafted):
    """A model of a pool with the reader of its rows and the automatic choices.

    The first items fix which values are accepted (reader), the number of columns (width) and the kernel.
    """

    settings: Settings  # as the user gave them
    kernel: str | None  # with kernel="auto" the candidate in use (see core.selection.kernel), else None
    decided_at: int  # number of labels it was chosen on
    reader: AnyReader
    width: int
    model: PoolModel
    compared_at: int = 0  # with model="auto" the number of labels that the model was chosen on
    warnings: tuple[str, ...] = ()  # of the last training
    levels: LevelRule = "auto"  # with levels="auto" the rule in use
    weighed_at: int = 0  # with likelihood="auto" the number of labels that it was chosen on

    @classmethod
    def begin(
        cls,
        settings: Settings,
        parameters: Parameters,
        x: Table,
        tree: ClassTree,
        allocate: Allocate = np.empty,
        engine: Engine | None = None,
    ) -> "ModelInUse":
        """Without labels; levels and scales are those of these items, which are kept in arrays made by `allocate`.

        With an engine, a table in chunks is read by its workers, and its rows stay there if the model may be in parts.
        """
        if isinstance(x, Chunked):
            x = replace(x, engine=engine)
        rough = settings.kernel == "hik" and not (settings.complement or settings.split)
        x = Reader(rough, None).check(x)
        if settings.kernel == "auto" and parameters.kernel not in candidates(settings, x, x.shape[0]):
            parameters = Parameters(
                first_kernel(settings, x),
                model=parameters.model,
                compared_at=parameters.compared_at,
                likelihood=parameters.likelihood,
                weighed_at=parameters.weighed_at,
            )
        kernel = parameters.kernel
        plain = with_kernel(settings, kernel)
        if plain.levels == "auto":
            plain = replace(plain, levels=parameters.levels)
        reader = make_reader(plain, x)
        if any(not one.differs for one in readers_of(reader)):
            raise ValueError("complement=True needs first items that differ: their range is the scale")
        likelihood = likelihood_in_use(settings, parameters)
        forest = likelihood == "gaussian" and (parameters.model or settings.model) == "forest"
        in_parts = plain.lives_in_parts and likelihood == "gaussian" and settings.lives_in_parts and not forest
        far = isinstance(x, Chunked) and x.engine is not None and in_parts
        operator = make_operator(plain, x, reader, allocate, rows=not far)
        noises = [float(settings.noise)]
        if parameters.theta is not None:
            width = len(operator.kernel.theta)
            operator = operator.with_kernel(operator.kernel.with_theta(np.array(parameters.theta[:width])))
            noises = list(parameters.theta[width:])
        rows = operator.training_rows(np.arange(len(operator)))
        operator.check(rows)
        parts = _coded(x, reader, operator) if far else LocalParts.of(rows)
        name = "forest" if forest else likelihood
        model = MODELS[name].begin(plain, operator, parts, noises, tree, parameters)
        decided_at, compared_at, warnings = parameters.decided_at, parameters.compared_at, parameters.warnings
        found = cls(settings, kernel, decided_at, reader, x.shape[1], model, compared_at, warnings, parameters.levels)
        found.weighed_at = parameters.weighed_at
        return found

    def draft(self) -> Self:
        """A twin (see core.drafts)."""
        twin = super().draft()
        twin.model = self.model.draft()
        return twin

    @property
    def spans(self) -> list[tuple[int, int]]:
        """The first column and the number of columns of each channel of a sum of kernels."""
        kernel = self.settings.kernel
        channels = kernel if isinstance(kernel, tuple) else ()
        return [((channel.columns or (0, 0))[0], channel.width(self.width)) for channel in channels]

    @property
    def parameters(self) -> Parameters:
        """What training found so far."""
        own = {"kernel": self.kernel, "decided_at": self.decided_at, "warnings": self.warnings, "levels": self.levels}
        found = replace(self.model.parameters, **own)  # type: ignore[arg-type]
        if self.settings.model == "auto":
            found = replace(found, model=self.model.kind, compared_at=self.compared_at)
        if self.settings.likelihood == "auto":
            found = replace(found, likelihood=self.likelihood, weighed_at=self.weighed_at)
        return found

    @property
    def likelihood(self) -> Likelihood:
        """The one in use."""
        return "softmax" if self.model.solver == "softmax" else "gaussian"

    def read(self, x: Table) -> Rows:
        """A table, checked and encoded as rows; a ValueError says what does not fit."""
        if x.shape[1] != self.width:
            raise ValueError(f"rows have {x.shape[1]} columns; the first items had {self.width}")
        return self.reader(self.reader.check(x))

    @all_or_nothing
    def tune(self, on_step: Callable[[], object], *, search: bool = True) -> bool:
        """Find hyperparameters and use them; False if there is too little to learn them from.

        Without `search` they are good already, and only the sharpness of probabilities is found.
        """
        numbers = self.model.numbers
        if len(np.unique(numbers)) < 2 or len(numbers) < MIN_LABELS:
            return False
        own = {"tune": self.settings.tune if search else "none", "likelihood": self.settings.likelihood}
        settings = replace(with_kernel(self.settings, self.kernel), **own)  # type: ignore[arg-type]
        at_bounds = self.model.tune(settings, on_step)
        if at_bounds is None:
            return False
        if search:
            self.warnings = tuple(map(str, at_bounds))
        return True

    def state(self, *, warm: bool) -> dict[str, NDArray[Any]]:
        """Everything but the settings as plain arrays; `warm` with what a fit may start from."""
        return {
            **snapshot.dump(self.model, self.reader, warm=warm),
            "model_name": np.array("forest" if self.model.kind == "forest" else self.likelihood),
            "kernel": np.array(self.kernel or ""),
            "decided_at": np.array(self.decided_at),
            "width": np.array(self.width),
            "compared_at": np.array(self.compared_at),
            "warnings": np.array(self.warnings, dtype=np.str_),
            "levels": np.array(str(self.levels)),
            "weighed_at": np.array(self.weighed_at),
        }

    @classmethod
    def restore(cls, settings: Settings, state: Arrays, tree: ClassTree, allocate: Allocate = np.empty) -> "ModelInUse":
        """The model that gave this state, under the settings it had; the posterior is solved from scratch."""
        kernel = str(state["kernel"]) or None
        plain = with_kernel(settings, kernel)
        operator, rows, reader = snapshot.load_rows(plain, state, allocate)
        model = MODELS[str(state["model_name"])].load(plain, operator, rows, tree, state)
        decided_at, width, compared_at = (int(state[name]) for name in ("decided_at", "width", "compared_at"))
        warnings = tuple(state["warnings"].tolist())
        levels: LevelRule = "few" if str(state["levels"]) == "few" else "auto"
        weighed_at = int(state["weighed_at"]) if "weighed_at" in state else 0  # older states had no choice
        return cls(settings, kernel, decided_at, reader, width, model, compared_at, warnings, levels, weighed_at)


def _coded(x: Chunked, reader: AnyReader, operator: Operator) -> Parts:
    """The rows of a table, encoded where its engine works."""
    assert x.engine is not None
    parts: Parts = x.engine.parts(x, Encoding(reader, operator))
    parts.collect(Checked(operator))
    return parts


def likelihood_in_use(settings: Settings, parameters: Parameters) -> Likelihood:
    """That of the settings; where they leave it open the one that was chosen, label regression at first."""
    if settings.likelihood != "auto":
        return settings.likelihood
    return (parameters.likelihood if settings.leaves_likelihood else None) or "gaussian"


def with_kernel(settings: Settings, kernel: str | None) -> Settings:
    """Settings with the chosen kernel; rows are encoded as for label regression under either likelihood."""
    return replace(settings, likelihood="gaussian") if kernel is None else candidate(settings, kernel)
