"""What a fitted GPHIKClassifier tells of itself."""

from typing import Any

from core.choice import Choice, Chooser
from core.linalg import HistogramOperator
from core.posterior import LabelRegression
from core.softmax import NamedTree, SoftmaxClasses


class EstimatorFacts:
    """Attributes that follow from the model; `GPHIKClassifier` documents them."""

    _chooser: Chooser | None
    _nodes: NamedTree
    _model: LabelRegression | SoftmaxClasses

    @property
    def nodes_(self) -> Any:
        return self._nodes.names

    @property
    def posterior_(self) -> str:
        return self._model.name

    @property
    def choice_(self) -> Choice:
        if self._chooser is None or self._chooser.choice is None:
            raise AttributeError('choice_ is there with kernel="auto"')
        return self._chooser.choice

    @property
    def parameters_(self) -> dict[str, float]:
        if isinstance(self._model, SoftmaxClasses):
            return self._model.parameters
        kernel = self._model.operator.kernel
        return dict(zip((*kernel.names, "noise"), (*map(float, kernel.theta), self._model.noise), strict=True))

    @property
    def n_levels_(self) -> int:
        operator = self._model.operator
        # The constant term is a level too, but none of the data.
        return len(operator.levels) - 1 if isinstance(operator, HistogramOperator) else 0

    @property
    def jitter_(self) -> float:
        return self._model.posterior.jitter

    @property
    def residual_(self) -> float:
        return self._model.posterior.residual()
