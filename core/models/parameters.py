"""What training found, as plain numbers."""

from dataclasses import dataclass

from core.histograms import LevelRule
from core.kernels import Kernel
from core.probabilities import Likelihood


@dataclass(frozen=True)
class Parameters:
    """What training found, as plain numbers.

    `kernel` is the name of the candidate in use and `kernel_chosen_at` the number of labels it was chosen on, where the
    settings leave the choice; `theta` the kernel's parameters and the noise (in a tree one for each depth), or None for
    those of the settings.

    `model` is the one in use and `model_chosen_at` the number of labels it was chosen on, likewise.
    `trees` are those of a forest (see core.forest.tree) and `grown_at` the number of labels they were grown on.
    `levels` is the rule for the levels of histograms in use, where the settings leave it open.
    `likelihood` is the one in use and `likelihood_chosen_at` the number of labels it was chosen on, likewise.
    `sharpness` is that of class probabilities, where it was found.
    `warnings` tell which parameters ended at a bound of their search.
    """

    kernel: str | None = None
    kernel_chosen_at: int = 0
    theta: tuple[float, ...] | None = None
    model: str | None = None
    model_chosen_at: int = 0
    trees: tuple[tuple[tuple[float, ...], ...], ...] = ()
    grown_at: int = 0
    warnings: tuple[str, ...] = ()
    levels: LevelRule = "auto"
    sharpness: float | None = None
    likelihood: Likelihood | None = None
    likelihood_chosen_at: int = 0


def by_name(kernel: Kernel, noise: float) -> dict[str, float]:
    """Kernel parameters and noise, by name."""
    return dict(zip((*kernel.names, "noise"), (*map(float, kernel.theta), noise), strict=True))
