"""Bring a database to the tables of this version, or back."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

import migrations
from app.db.database import Database
from app.db.errors import NewerRevision


def migrate(database: Database, revision: str = "head") -> None:
    """Upgrade to a revision, all of it or nothing; NewerRevision if this version does not know the one it is at."""
    _check_known(current_revision(database))
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
    """Whether the database is at the revision of this version; NewerRevision if that is of a newer one."""
    revision = current_revision(database)
    _check_known(revision)
    return revision == ScriptDirectory.from_config(_config()).get_current_head()


def _check_known(revision: str | None) -> None:
    known = {script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions()}
    if revision is not None and revision not in known:
        raise NewerRevision(
            f"its tables are of revision {revision}, which a newer version of AskNext made; this one knows up to "
            f"{max(known)}: run that version, or restore a copy that was made before it"
        )


def _config(**attributes: object) -> Config:
    """Alembic's settings without its file, from wherever the package is installed."""
    config = Config(attributes=attributes)
    folder = str(Path(migrations.__file__).parent)
    config.set_main_option("script_location", folder.replace("%", "%%"))
    return config
