"""asknext simulate: learning curves of query strategies."""

from pathlib import Path
from typing import Annotated, get_args

import typer

from app.commands.plots import check_folder
from app.services.project.strategies import Strategy

STRATEGIES = get_args(Strategy)


def simulate(
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
    """Compare query strategies on a labelled file, as if a person answered."""
    names = [name.strip() for name in strategies.split(",")]
    unknown = [name for name in names if name not in STRATEGIES]
    if unknown:
        raise typer.BadParameter(f"unknown strategy {unknown}; choose from {', '.join(STRATEGIES)}")
    check_folder(plot)
    from app.commands import curves  # seconds, which --help need not wait for
    from app.commands.labelled_files import load

    found = curves.play(load(file, seed), names, budget, repeats, seed)
    curves.print_curves(found, target)
    if plot is not None:
        curves.plot_curves(found, plot, file.stem)
