"""The model in use: made from settings and first items, or loaded from plain arrays."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from core._types import Arrays, Table
from core.classes import ClassTree
from core.drafts import Drafted, all_or_nothing
from core.factory import make_operator, make_reader
from core.histograms import Allocate, Chunked, Engine
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
    choices: Parameters  # what the settings leave open, and the warnings of the last training
    reader: AnyReader
    width: int
    model: PoolModel

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
                model_chosen_at=parameters.model_chosen_at,
                likelihood=parameters.likelihood,
                likelihood_chosen_at=parameters.likelihood_chosen_at,
            )
        plain = regression_settings(settings, parameters.kernel)
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
        return cls(settings, parameters, reader, x.shape[1], model)

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
        choices = self.choices
        found = replace(
            self.model.parameters,
            kernel=choices.kernel,
            kernel_chosen_at=choices.kernel_chosen_at,
            levels=choices.levels,
            warnings=choices.warnings,
        )
        if self.settings.model == "auto":
            found = replace(found, model=self.model.kind, model_chosen_at=choices.model_chosen_at)
        if self.settings.likelihood == "auto":
            found = replace(found, likelihood=self.likelihood, likelihood_chosen_at=choices.likelihood_chosen_at)
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
    def tune(self, on_step: Callable[[], object], *, search: bool = True, drawn: Collection[int] = ()) -> bool:
        """Find hyperparameters and use them; False if there is too little to learn them from.

        Without `search` they are good already, and only the sharpness of probabilities is found. Labels of items that
        were `drawn` at random stand for the pool.
        """
        numbers = self.model.numbers
        if len(np.unique(numbers)) < 2 or len(numbers) < MIN_LABELS:
            return False
        own = {"tune": self.settings.tune if search else "none", "likelihood": self.settings.likelihood}
        settings = replace(regression_settings(self.settings, self.choices.kernel), **own)  # type: ignore[arg-type]
        at_bounds = self.model.tune(settings, on_step, drawn)
        if at_bounds is None:
            return False
        if search:
            self.choices = replace(self.choices, warnings=tuple(map(str, at_bounds)))
        return True

    def dump(self, *, warm: bool) -> dict[str, NDArray[Any]]:
        """Everything but the settings as plain arrays; `warm` with what a fit may start from."""
        return {
            **snapshot.dump(self.model, self.reader, warm=warm),
            "model_name": np.array("forest" if self.model.kind == "forest" else self.likelihood),
            "width": np.array(self.width),
            "kernel": np.array(self.choices.kernel or ""),
            "kernel_chosen_at": np.array(self.choices.kernel_chosen_at),
            "model_chosen_at": np.array(self.choices.model_chosen_at),
            "likelihood_chosen_at": np.array(self.choices.likelihood_chosen_at),
            "levels": np.array(str(self.choices.levels)),
            "warnings": np.array(self.choices.warnings, dtype=np.str_),
        }

    @classmethod
    def load(cls, settings: Settings, arrays: Arrays, tree: ClassTree, allocate: Allocate = np.empty) -> "ModelInUse":
        """The model that gave these arrays, under the settings it had; the posterior is solved from scratch."""
        choices = Parameters(
            kernel=str(arrays["kernel"]) or None,
            kernel_chosen_at=int(arrays["kernel_chosen_at"]),
            model_chosen_at=int(arrays["model_chosen_at"]),
            likelihood_chosen_at=int(arrays["likelihood_chosen_at"]),
            levels="few" if str(arrays["levels"]) == "few" else "auto",
            warnings=tuple(arrays["warnings"].tolist()),
        )
        plain = regression_settings(settings, choices.kernel)
        operator, rows, reader = snapshot.load_rows(plain, arrays, allocate)
        model = MODELS[str(arrays["model_name"])].load(plain, operator, rows, tree, arrays)
        return cls(settings, choices, reader, int(arrays["width"]), model)


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


def regression_settings(settings: Settings, kernel: str | None) -> Settings:
    """Settings of label regression with the chosen kernel: rows are encoded like that under either likelihood."""
    return replace(settings, likelihood="gaussian") if kernel is None else candidate(settings, kernel)
