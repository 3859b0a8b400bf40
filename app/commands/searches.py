"""Searches for all texts of one class: read from a csv file, played, printed."""

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from app.encoders import fit
from app.services.project.settings import ProjectSettings, learner_settings
from app.services.project.state import StoredEncoder
from core import Settings
from core._types import Indices
from core.experiments.screening import Screening, loss, recall_at, screen, work_saved
from core.insight.finding import Bools, StopRule

TEXT_COLUMNS = ("title", "abstract", "text")
BATCH = 0.05  # of the labels there are: a step of a simulation


@dataclass(frozen=True, eq=False)
class Texts:
    """Encoded texts, which of them are wanted, and the model settings that a project with the goal find has."""

    x: Any
    wanted: Bools
    settings: Settings

    @classmethod
    def of(cls, texts: Sequence[str], wanted: Bools) -> "Texts":
        """As the service encodes them."""
        project = ProjectSettings(goal="find", wanted="wanted")
        texts = [text if text.strip() else "-" for text in texts]  # an empty one is an item, too
        encoder = fit("text", texts, project.options_for("text"))
        stored = StoredEncoder("text", "", encoder.channels, {"model": encoder.model()})
        parts = project.model_parts("text", stored.columns, stored.model(2, len(texts)))
        return cls(encoder.encode(texts).table, wanted, learner_settings(parts))

    def priors(self, seed: int) -> Indices:
        """One item that is wanted and one that is not, drawn by the seed: what a search begins with."""
        rng = np.random.default_rng(seed)
        return np.array([rng.choice(np.flatnonzero(side)) for side in (self.wanted, ~self.wanted)])

    def search(self, rule: StopRule | None, seed: int) -> Screening:
        """Played to its end, or to where the rule stops it."""
        given = self.priors(seed)
        return screen(self.x, self.wanted, given, settings=self.settings, rule=rule, batch=BATCH, seed=seed)


def read(file: IO[str], label: str, find: str) -> tuple[list[str], Bools]:
    """Texts of a csv file, title and abstract joined, and whether each is of the class; a ValueError if none is."""
    rows = list(csv.DictReader(file))
    names = list(rows[0]) if rows else []
    columns = [name for name in names if name.strip().lower() in TEXT_COLUMNS and name != label]
    if label not in names or not columns:
        raise ValueError(f"expected a column {label!r} and one of {', '.join(TEXT_COLUMNS)}; there are {names}")
    wanted = np.array([(row[label] or "").strip() == find for row in rows])
    if not 0 < wanted.sum() < len(wanted):
        raise ValueError(
            f"{wanted.sum()} of {len(wanted)} rows have {find!r} in {label!r}: some must, and some must not"
        )
    return ["\n\n".join(filter(None, (row[name] for name in columns))) for row in rows], wanted


def load(path: Path, label: str, find: str) -> Texts:
    """The file for a command, or a sentence that says what is wrong with it."""
    csv.field_size_limit(2**24)
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            return Texts.of(*read(file, label, find))
    except (OSError, ValueError) as error:
        raise typer.BadParameter(f"{path}: {error}") from error


def play(texts: Texts, recall: float, risk: float, patience: int, repeats: int, seed: int) -> None:
    """Each run begins with one text that is wanted and one that is not: once to its end, once with the stop rule."""
    try:
        rule = StopRule(recall, risk, patience)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    rows: dict[str, list[float]] = {}
    for run in range(seed, seed + repeats):
        ended, stopped = texts.search(None, run), texts.search(rule, run)
        flags = ended.flags
        for name, value in (
            ("loss", loss(flags)),
            ("found in the first 10 %", recall_at(flags, 0.1)),
            ("WSS@95", work_saved(flags)),
            ("labelled at the stop", stopped.labelled),
            ("found at the stop", stopped.recall),
        ):
            rows.setdefault(name, []).append(value)
    table = Table("measure", f"mean of {repeats}", "standard error")
    for name, values in rows.items():
        spread = np.std(values, ddof=1) / math.sqrt(repeats) if repeats > 1 else math.nan
        table.add_row(name, f"{np.mean(values):.4f}", f"{spread:.4f}")
    Console(width=110).print(table)
