"""The `asknext` command."""

import typer

app = typer.Typer(help="AskNext: which item to ask about next, learnt from each label at once.", no_args_is_help=True)


@app.callback()
def commands() -> None:
    """Commands of AskNext."""


@app.command()
def serve() -> None:
    """Run the web service (not built yet)."""
    typer.echo("The web service is not part of this version yet. What works today: from core import GPHIKClassifier")
    raise typer.Exit(1)


def main() -> None:
    """Entry point of the command."""
    app()
