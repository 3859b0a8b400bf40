"""Bring a database to the tables of this version, or back."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

import migrations
from app.db.database import Database


def migrate(database: Database, revision: str = "head") -> None:
    """Upgrade to a revision, all of it or nothing."""
    with database.write() as connection:
        command.upgrade(_config(connection=connection), revision)


def downgrade(database: Database, revision: str = "base") -> None:
    """Go back to a revision, all of it or nothing; what only later tables hold is lost."""
    with database.write() as connection:
        command.downgrade(_config(connection=connection), revision)


def current_revision(database: Database) -> str | None:
    """The revision the database is at; None if it has no tables yet."""
    with database.read() as connection:
        return MigrationContext.configure(connection).get_current_revision()


def is_current(database: Database) -> bool:
    """Whether the database is at the revision of this version."""
    return current_revision(database) == ScriptDirectory.from_config(_config()).get_current_head()


def _config(**attributes: object) -> Config:
    """Alembic's settings without its file, from wherever the package is installed."""
    config = Config(attributes=attributes)
    folder = str(Path(migrations.__file__).parent)
    config.set_main_option("script_location", folder.replace("%", "%%"))
    return config
