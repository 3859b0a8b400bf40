"""The names of query strategies, for those who need no more than that."""

from typing import Literal

Strategy = Literal["random", "mean", "variance", "unc", "unc+", "entropy", "bald", "emoc", "density", "herding"]
