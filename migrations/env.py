"""Run migrations on the connection that app.db.migrate hands over, inside its transaction."""

from alembic import context

from app.db.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
    compare_server_default=True,
)
context.run_migrations()
