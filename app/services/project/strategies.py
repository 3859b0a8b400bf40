"""The names of query strategies, for those who need no more than that; and in words, for people."""

from importlib.metadata import entry_points
from typing import Annotated, Literal

from pydantic import AfterValidator, ValidationInfo, WithJsonSchema

VarianceName = Literal["exact", "fapu", "qfapu", "rapu", "qrapu"]  # as in core.variance
GROUP = "asknext.strategies"  # of the entry points of other packages, as in core.queries.plugins

STRATEGY_NAMES: dict[str, str] = {
    "random": "Random",
    "mean": "Closest to a border between classes",
    "variance": "Least known",
    "novelty": "Most unlike anything labelled",
    "unc": "Most uncertain (recommended)",
    "unc+": "Closest to a border, among well-known items",
    "entropy": "Classes almost equally likely",
    "bald": "Teaches the model most",
    "emoc": "Changes the most predictions",
    "density": "Uncertain, with many similar items",
    "herding": "Most typical",
    "uherding": "Most typical of what is uncertain, then most uncertain",
    "eer": "Fewest mistakes expected afterwards",
    "epig": "Most informative about the other items",
    "likely": "Most likely first",
}


def _in_words(name: str) -> str:
    """A strategy of another package on the page.

    >>> _in_words("far-apart")
    'Far apart'
    """
    return name.replace("-", " ").replace("_", " ").capitalize()


for _name in sorted({entry.name for entry in entry_points(group=GROUP)} - set(STRATEGY_NAMES)):
    STRATEGY_NAMES[_name] = _in_words(_name)


def _known(name: str, info: ValidationInfo) -> str:
    """A name there is; a project that was stored keeps that of a package that is gone, and draws at random."""
    if name not in STRATEGY_NAMES and not (info.context or {}).get("stored"):
        raise ValueError(f"a strategy is one of {', '.join(STRATEGY_NAMES)}")
    return name


Strategy = Annotated[str, AfterValidator(_known), WithJsonSchema({"type": "string", "enum": list(STRATEGY_NAMES)})]
