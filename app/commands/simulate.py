"""asknext simulate: learning curves of query strategies."""

from pathlib import Path
from typing import Annotated

import typer

from app.commands.plots import check_folder
from app.services.project.strategies import STRATEGY_NAMES

STRATEGIES = [name for name in STRATEGY_NAMES if name != "likely"]  # which is for --find


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
    find: Annotated[
        str | None, typer.Option(help="search for all items of this class instead, by title, abstract or text of a csv")
    ] = None,
    label: Annotated[str, typer.Option(help="with --find: the column of the csv that says the class")] = "label",
    recall: Annotated[float, typer.Option(help="with --find: the share that is to be found")] = 0.95,
    risk: Annotated[float, typer.Option(help="with --find: the probability, at most, to find less")] = 0.05,
    patience: Annotated[int, typer.Option(min=1, help="with --find: labels without a find until a sample")] = 50,
) -> None:
    """Compare query strategies on a labelled file, or play a search for one class, as if a person answered."""
    if find is not None:
        from app.commands import searches

        searches.play(searches.load(file, label, find), recall, risk, patience, repeats, seed)
        return
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
