"""What commands share: options, settings, and how they fail."""

from pathlib import Path
from typing import Annotated

import typer

from app.settings import ServiceSettings

Host = Annotated[str | None, typer.Option(help="address to listen on (default 127.0.0.1: only this machine)")]
Port = Annotated[int | None, typer.Option(help="port to listen on (default 8000)", min=0, max=65535)]
Url = Annotated[
    str | None, typer.Option(help="database: postgresql://user@host/name (default: SQLite in the data folder)")
]
Folder = Annotated[Path | None, typer.Option(help="folder for data (default asknext-data)")]


def settings_with(**options: object) -> ServiceSettings:
    """The environment, and over it what was said on the command line."""
    return ServiceSettings(**{name: value for name, value in options.items() if value is not None})  # type: ignore[arg-type]


def fatal(message: str) -> typer.Exit:
    """Say it and end with an error."""
    typer.echo(message, err=True)
    return typer.Exit(1)
