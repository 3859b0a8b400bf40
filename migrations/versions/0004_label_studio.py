"""Links to Label Studio: its tasks, and what it last said of each annotation."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "label_studio_links",
        sa.Column("project_id", sa.String(length=32), nullable=False),
        sa.Column("digest", sa.LargeBinary(length=32), nullable=False),
        sa.Column("address", sa.Text(), nullable=True),
        sa.Column("token", sa.Text(), nullable=True),
        sa.Column("remote_project", sa.BigInteger(), nullable=True),
        sa.Column("top", sa.Integer(), nullable=False),
        sa.Column("label_config", sa.Text(), nullable=True),
        sa.Column("pushed_version", sa.BigInteger(), nullable=True),
        sa.Column("pushed_at", sa.Float(), nullable=True),
        sa.Column("synced_at", sa.Float(), nullable=True),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_label_studio_links_project_id_projects"),
        sa.PrimaryKeyConstraint("project_id", name="pk_label_studio_links"),
    )
    op.create_table(
        "label_studio_tasks",
        sa.Column("project_id", sa.String(length=32), nullable=False),
        sa.Column("task", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("item", sa.Integer(), nullable=True),
        sa.Column("data", sa.JSON(), nullable=True),
        sa.Column("drawn", sa.Boolean(), nullable=False),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_label_studio_tasks_project_id_projects"),
        sa.PrimaryKeyConstraint("project_id", "task", name="pk_label_studio_tasks"),
    )
    op.create_index("ix_label_studio_tasks_project_id_item", "label_studio_tasks", ["project_id", "item"])
    op.create_table(
        "label_studio_annotations",
        sa.Column("project_id", sa.String(length=32), nullable=False),
        sa.Column("annotation", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("task", sa.BigInteger(), nullable=False),
        sa.Column("key_id", sa.String(length=32), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("label", sa.Text(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("changed_at", sa.Float(), nullable=False),
        sa.Column("heard_at", sa.Float(), nullable=False),
        sa.CheckConstraint(
            "kind IN ('label', 'skip', 'nothing', 'gone')", name=op.f("ck_label_studio_annotations_kind")
        ),
        sa.CheckConstraint(
            "state IN ('waiting', 'written', 'refused')", name=op.f("ck_label_studio_annotations_state")
        ),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name="fk_label_studio_annotations_project_id_projects"
        ),
        sa.PrimaryKeyConstraint("project_id", "annotation", name="pk_label_studio_annotations"),
    )
    for column in ("task", "state"):
        name = f"ix_label_studio_annotations_project_id_{column}"
        op.create_index(name, "label_studio_annotations", ["project_id", column])


def downgrade() -> None:
    """Drop them: labels stay in the log of events."""
    op.drop_table("label_studio_annotations")
    op.drop_table("label_studio_tasks")
    op.drop_table("label_studio_links")
