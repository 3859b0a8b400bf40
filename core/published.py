"""What readers see of a learner."""

from collections.abc import Mapping
from dataclasses import dataclass

from core._types import Floats, Indices
from core.choice import Choice
from core.posterior import probit


@dataclass(frozen=True, eq=False)
class Published:
    """An immutable view of a learner, for any number of readers while the learner goes on."""

    version: int
    classes: tuple[str, ...]
    mean: Floats  # items x M
    variance: Floats  # items
    noise: float
    labels: Indices  # items; -1 without a label
    solver: str  # name of the posterior in use
    rounds: int  # of conjugate gradients, if it is the iterative one
    hyperparameters: Mapping[str, float]  # kernel parameters and noise
    choice: Choice | None  # with kernel="auto", how the kernel was chosen

    @property
    def probabilities(self) -> Floats:
        """Of each item and class."""
        return probit(self.mean, self.variance + self.noise)
