"""asknext serve and migrate."""

from typing import Annotated

import typer
from sqlalchemy.exc import SQLAlchemyError

from app.commands.options import Folder, Host, Port, Url, fatal, settings_with
from app.db.database import Database, DatabaseUnavailable
from app.db.errors import NewerRevision
from app.db.migrate import current_revision, migrate


def serve(
    host: Host = None,
    port: Port = None,
    database: Url = None,
    data_dir: Folder = None,
    demo: Annotated[bool, typer.Option("--demo", help="create a small project to try, if there is none")] = False,
) -> None:
    """Run the web service until Ctrl-C."""
    settings = settings_with(host=host, port=port, database=database, data_dir=data_dir, demo=demo or None)
    from app.commands.server import run  # seconds, which --help need not wait for

    run(settings)


def migrate_command(
    database: Url = None,
    data_dir: Folder = None,
) -> None:
    """Bring the tables of the database up to date (the service does so itself when it starts)."""
    settings = settings_with(database=database, data_dir=data_dir)
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    try:
        opened = Database(settings.database_url, checkpoints=False)
    except (DatabaseUnavailable, SQLAlchemyError, ValueError) as error:
        raise fatal(f"the database cannot be used: {error}") from error
    try:
        before = current_revision(opened)
        migrate(opened)
        typer.echo(f"from {before or 'nothing'} to {current_revision(opened)}")
    except (DatabaseUnavailable, NewerRevision, SQLAlchemyError) as error:
        raise fatal(f"the database cannot be used: {error}") from error
    finally:
        opened.close()
