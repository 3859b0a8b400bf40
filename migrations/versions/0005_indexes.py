"""Indexes of jobs and trainings by their projects."""

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

TABLES = ("trainings", "jobs")


def upgrade() -> None:
    """Make them."""
    for table in TABLES:
        op.create_index(f"ix_{table}_project_id_id", table, ["project_id", "id"])


def downgrade() -> None:
    """Drop them."""
    for table in TABLES:
        op.drop_index(f"ix_{table}_project_id_id", table)
