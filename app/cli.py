"""The `asknext` command."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from app.data_files import read_task
from core.queries import STRATEGIES
from core.simulation import Curve, marks, simulate

app = typer.Typer(
    help="AskNext: which item to ask about next, learnt from each label at once.",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
)


@app.callback()
def commands() -> None:
    """Commands of AskNext."""


@app.command()
def serve() -> None:
    """Run the web service (not built yet)."""
    typer.echo("The web service is not part of this version yet. What works today: from core import GPHIKClassifier")
    raise typer.Exit(1)


@app.command("simulate")
def simulate_command(
    file: Annotated[Path, typer.Argument(help="npz (X, y or X_train, ...), csv (label last) or svmlight")],
    strategies: Annotated[
        str, typer.Option(help="names, separated by commas: " + ", ".join(STRATEGIES))
    ] = "random,unc",
    budget: Annotated[int, typer.Option(min=1, help="labels to ask for")] = 200,
    repeats: Annotated[int, typer.Option(min=1, help="runs, each with the pool in another order")] = 3,
    seed: Annotated[int, typer.Option(help="the same seed gives the same curves")] = 0,
    target: Annotated[float, typer.Option(help="accuracy for the column of labels needed")] = 0.9,
    plot: Annotated[Path | None, typer.Option(help="write the learning curves to this picture")] = None,
) -> None:
    """Play a labelled file as if a person answered, and compare query strategies."""
    names = [name.strip() for name in strategies.split(",")]
    unknown = [name for name in names if name not in STRATEGIES]
    if unknown:
        raise typer.BadParameter(f"no strategy {unknown}; there are {', '.join(STRATEGIES)}")
    try:
        task = read_task(file, seed)
    except (OSError, ValueError) as error:
        raise typer.BadParameter(str(error)) from error
    if plot is not None and not plot.resolve().parent.is_dir():
        raise typer.BadParameter(f"there is no folder for {plot}")
    console = Console(stderr=True)
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console) as progress:
        total = len(names) * repeats * len(marks(budget, len(task.y)))
        bar = progress.add_task("playing", total=total)
        curves = simulate(task, names, budget, repeats=repeats, seed=seed, on_progress=lambda: progress.advance(bar))
    _print_curves(curves, target)
    if plot is not None:
        _plot_curves(curves, plot, file.stem)


def _print_curves(curves: list[Curve], target: float) -> None:
    table = Table()
    for title in ("strategy", "accuracy at half", "at the end", "area under the curve", f"labels for {target:.0%}"):
        table.add_column(title)
    for curve in curves:
        ends = curve.accuracy[:, [len(curve.labels) // 2, -1]].mean(axis=0)
        needed = curve.labels_needed(target)
        area = f"{curve.area.mean():.4f} +- {curve.area.std():.4f}"
        table.add_row(curve.strategy, f"{ends[0]:.2%}", f"{ends[1]:.2%}", area, "-" if needed is None else str(needed))
    Console(width=110).print(table)


def _plot_curves(curves: list[Curve], path: Path, title: str) -> None:
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise typer.BadParameter("--plot needs the extra: pip install 'asknext[plots]'") from error
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.add_subplot(title=title, xlabel="labels", ylabel="test accuracy")
    for curve in curves:
        mean, spread = curve.accuracy.mean(axis=0), curve.accuracy.std(axis=0)
        axes.plot(curve.labels, mean, label=curve.strategy)
        axes.fill_between(curve.labels, mean - spread, mean + spread, alpha=0.15)
    axes.legend()
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=120)


def main() -> None:
    """Entry point of the command."""
    app()
