"""Pure numerics: Gaussian processes with histogram intersection kernels. No I/O, no environment, no clock."""

from typing import TYPE_CHECKING, Any

from core._blas import share_cores
from core._jit import compile_all
from core.learner import OnlineLearner
from core.learner.record import Labelling
from core.learner.view import Published
from core.models.parameters import Parameters
from core.settings import Channel, Settings

if TYPE_CHECKING:
    from core.estimators.classifier import GPHIKClassifier
    from core.estimators.forest import GPHIKForestClassifier

__all__ = [
    "Channel",
    "GPHIKClassifier",
    "GPHIKForestClassifier",
    "Labelling",
    "OnlineLearner",
    "Parameters",
    "Published",
    "Settings",
    "compile_all",
    "share_cores",
]


def __getattr__(name: str) -> Any:
    """The estimators when they are asked for: scikit-learn takes longer to load than all the rest."""
    if name == "GPHIKClassifier":
        from core.estimators.classifier import GPHIKClassifier

        return GPHIKClassifier
    if name == "GPHIKForestClassifier":
        from core.estimators.forest import GPHIKForestClassifier

        return GPHIKForestClassifier
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
