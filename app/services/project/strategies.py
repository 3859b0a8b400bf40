"""The names of query strategies, for those who need no more than that; and in words, for people."""

from typing import Literal

Strategy = Literal[
    "random", "mean", "variance", "unc", "unc+", "entropy", "bald", "emoc", "density", "herding", "likely"
]

STRATEGY_NAMES: dict[str, str] = {
    "random": "Random",
    "mean": "Closest to a border between classes",
    "variance": "Least known",
    "unc": "Most uncertain (recommended)",
    "unc+": "Closest to a border, among well-known items",
    "entropy": "Classes almost equally likely (entropy)",
    "bald": "Teaches the model most (BALD)",
    "emoc": "Changes the most predictions (EMOC)",
    "density": "Uncertain, with many similar items (density)",
    "herding": "Most typical (herding)",
    "likely": "Most likely of the wanted class first",
}
