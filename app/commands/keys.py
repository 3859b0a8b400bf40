"""asknext keys."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.table import Column, Table
from sqlalchemy.exc import SQLAlchemyError

from app.commands.options import Folder, Url, fatal, settings_with
from app.db.database import Database, DatabaseUnavailable
from app.db.errors import NewerRevision
from app.db.migrate import is_current
from app.services.access import Access
from app.services.problems import Problem

app = typer.Typer(help="Keys of people and programs.", no_args_is_help=True)


@contextmanager
def access_to(database: str | None, data_dir: object) -> Iterator[Access]:
    """The keys of a database, which a running service may be using."""
    settings = settings_with(database=database, data_dir=data_dir)
    if settings.database is None and not (settings.data_dir / "asknext.db").exists():
        raise fatal(f"there is no database in {settings.data_dir}: start the service once, or give another --data-dir")
    try:
        opened = Database(settings.database_url, checkpoints=False)
    except (DatabaseUnavailable, SQLAlchemyError, ValueError) as error:
        raise fatal(f"the database cannot be used: {error}") from error
    try:
        if not is_current(opened):
            raise fatal("the tables of the database are not up to date: run asknext migrate")
        yield Access(opened)
    except (Problem, DatabaseUnavailable, NewerRevision) as problem:
        raise fatal(str(problem)) from problem
    finally:
        opened.close()


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="whose key it is")],
    role: Annotated[Literal["admin", "annotator", "reader"], typer.Option(help="what its owner may do")] = "annotator",
    project: Annotated[
        str | None, typer.Option(help="id of the only project it gives access to (default: all)")
    ] = None,
    database: Url = None,
    data_dir: Folder = None,
) -> None:
    """Create a key and print it. It is not shown again."""
    with access_to(database, data_dir) as access:
        typer.echo(access.create(name, role, project)["key"])


@app.command("list")
def list_keys(database: Url = None, data_dir: Folder = None) -> None:
    """Show all keys, without their secrets."""
    names = ("name", "role", "project", "made", "revoked")
    table = Table(Column("id", no_wrap=True), *(Column(name, overflow="fold") for name in names))
    with access_to(database, data_dir) as access:
        after = ""
        while page := access.page(after, 100, None):
            for key in page:
                times = [_day(key["created_at"]), _day(key["revoked_at"])]
                table.add_row(key["id"], key["name"], key["role"], key["project"] or "all", *times)
            after = page[-1]["id"]
    Console(width=140).print(table)


@app.command()
def revoke(
    key_id: Annotated[str, typer.Argument(help="its id, as `asknext keys list` shows it")],
    database: Url = None,
    data_dir: Folder = None,
) -> None:
    """Revoke a key; a running service notices within two seconds."""
    with access_to(database, data_dir) as access:
        access.revoke(key_id)
    typer.echo("revoked")


def _day(seconds: float | None) -> str:
    return "" if seconds is None else datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M")
