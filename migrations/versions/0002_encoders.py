"""Fitted encoders: what turns raw items of a project into features."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "encoders",
        sa.Column("project_id", sa.String(length=32), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("channels", sa.JSON(), nullable=False),
        sa.Column("description", sa.JSON(), nullable=False),
        sa.Column("state", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.CheckConstraint("kind IN ('text', 'image', 'table', 'vectors', 'sets')", name=op.f("ck_encoders_kind")),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_encoders_project_id_projects"),
        sa.PrimaryKeyConstraint("project_id", name="pk_encoders"),
    )


def downgrade() -> None:
    """Drop it: items keep their features, new raw ones cannot be encoded any more."""
    op.drop_table("encoders")
