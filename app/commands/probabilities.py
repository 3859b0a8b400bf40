"""Probabilities: measured with a progress bar, printed, plotted."""

from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from app.commands.plots import new_figure, save
from core.experiments.evaluation import Evaluation, evaluate
from core.experiments.simulation import Dataset
from core.metrics import error_reject_curve, reliability_curve

REJECTED = (0.1, 0.2)


def measure(dataset: Dataset, names: list[Any], kernel: Any, rows: int, seed: int) -> list[Evaluation]:
    """One for each likelihood."""
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    with Progress(*columns, console=Console(stderr=True)) as progress:
        bar = progress.add_task("fitting", total=len(names))
        try:
            return evaluate(
                dataset, names, kernel=kernel, rows=rows, seed=seed, on_progress=lambda: progress.advance(bar)
            )
        except ValueError as error:
            raise typer.BadParameter(str(error)) from error


def print_qualities(found: list[Evaluation]) -> None:
    """Print a table of the figures of each likelihood."""
    table = Table()
    rejecting = [f"error, {share:.0%} rejected" for share in REJECTED]
    for title in ("likelihood", "error", *rejecting, "log loss", "Brier score", "calibration error"):
        table.add_column(title)
    for one in found:
        quality = one.quality
        errors = [f"{one.error(share):.2%}" for share in (0.0, *REJECTED)]
        figures = [f"{value:.4f}" for value in (quality.log_loss, quality.brier, quality.calibration_error)]
        table.add_row(one.likelihood, *errors, *figures)
    Console(width=130).print(table)


def plot_qualities(found: list[Evaluation], path: Path, title: str) -> None:
    """As a picture: accuracy by confidence, and error by the share of rows rejected."""
    figure = new_figure(10, 4.5)
    reliability = figure.add_subplot(1, 2, 1, title=f"{title}: reliability", xlabel="confidence", ylabel="accuracy")
    rejects = figure.add_subplot(1, 2, 2, title=f"{title}: error-reject", xlabel="share rejected", ylabel="error")
    reliability.plot([0, 1], [0, 1], "k:", label="calibrated")
    for one in found:
        confidence, accuracy, _ = reliability_curve(one.probabilities, one.labels)
        reliability.plot(confidence, accuracy, marker="o", markersize=4, label=one.likelihood)
        rejects.plot(*error_reject_curve(one.probabilities, one.labels), label=one.likelihood)
    save(figure, path)
