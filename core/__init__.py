"""Pure numerics: Gaussian processes with histogram intersection kernels. No I/O, no environment, no clock."""

from typing import TYPE_CHECKING, Any

from core._blas import share_cores
from core._jit import compile_all
from core.labelling import Labelling, Parameters
from core.learner import OnlineLearner
from core.published import Published
from core.settings import Settings

if TYPE_CHECKING:
    from core.estimator import GPHIKClassifier
    from core.forest_estimator import GPHIKForestClassifier

__all__ = [
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
        from core.estimator import GPHIKClassifier

        return GPHIKClassifier
    if name == "GPHIKForestClassifier":
        from core.forest_estimator import GPHIKForestClassifier

        return GPHIKForestClassifier
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
