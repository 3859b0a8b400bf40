"""Learning curves: played with a progress bar, printed, plotted."""

from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from app.commands.plots import new_figure, save
from core.experiments.simulation import Curve, Dataset, marks, simulate


def play(dataset: Dataset, names: list[str], budget: int, repeats: int, seed: int) -> list[Curve]:
    """A curve for each strategy."""
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True)) as progress:
        bar = progress.add_task("playing", total=len(names) * repeats * len(marks(budget, len(dataset.y))))
        return simulate(dataset, names, budget, repeats=repeats, seed=seed, on_progress=lambda: progress.advance(bar))


def print_curves(curves: list[Curve], target: float) -> None:
    """Print a table of the learning curves."""
    table = Table()
    for title in ("strategy", "accuracy at half", "at the end", "area under the curve", f"labels for {target:.0%}"):
        table.add_column(title)
    for curve in curves:
        ends = curve.accuracy[:, [len(curve.labels) // 2, -1]].mean(axis=0)
        needed = curve.labels_needed(target)
        area = f"{curve.area.mean():.4f} +- {curve.area.std():.4f}"
        table.add_row(curve.strategy, f"{ends[0]:.2%}", f"{ends[1]:.2%}", area, "-" if needed is None else str(needed))
    Console(width=110).print(table)


def plot_curves(curves: list[Curve], path: Path, title: str) -> None:
    """Draw the learning curves."""
    figure = new_figure(7, 4.5)
    axes = figure.add_subplot(title=title, xlabel="labels", ylabel="test accuracy")
    for curve in curves:
        mean, spread = curve.accuracy.mean(axis=0), curve.accuracy.std(axis=0)
        axes.plot(curve.labels, mean, label=curve.strategy)
        axes.fill_between(curve.labels, mean - spread, mean + spread, alpha=0.15)
    save(figure, path)
