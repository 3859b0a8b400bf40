"""asknext evaluate: how good probabilities are."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from app.commands.plots import check_folder

LIKELIHOODS = ("gaussian", "softmax", "logistic")


def evaluate(
    file: Annotated[Path, typer.Argument(help="npz (X, y or X_train, ...), csv (label last) or svmlight")],
    likelihoods: Annotated[str, typer.Option(help="names, separated by commas: " + ", ".join(LIKELIHOODS))] = ",".join(
        LIKELIHOODS
    ),
    kernel: Annotated[
        Literal["rbf", "hik", "linear", "auto"],
        typer.Option(help="of gaussian and softmax; hik for histograms, auto compares them all"),
    ] = "rbf",
    rows: Annotated[int, typer.Option(min=4, help="learn from at most so many rows, drawn at random")] = 2000,
    test_share: Annotated[
        float, typer.Option(min=0.01, max=0.99, help="share of the rows to test on, if the file has no test rows")
    ] = 0.3,
    seed: Annotated[int, typer.Option(min=0, help="the same seed gives the same figures")] = 0,
    plot: Annotated[Path | None, typer.Option(help="write reliability and error-reject curves to this picture")] = None,
) -> None:
    """Compare the probabilities of regression, softmax and logistic regression on a labelled file."""
    names = [name.strip() for name in likelihoods.split(",")]
    unknown = [name for name in names if name not in LIKELIHOODS]
    if unknown:
        raise typer.BadParameter(f"unknown likelihood {unknown}; choose from {', '.join(LIKELIHOODS)}")
    check_folder(plot)
    from app.commands import probabilities  # seconds, which --help need not wait for
    from app.commands.labelled_files import load

    found = probabilities.measure(load(file, seed, test_share), names, kernel, rows, seed)
    probabilities.print_qualities(found)
    if plot is not None:
        probabilities.plot_qualities(found, plot, file.stem)
