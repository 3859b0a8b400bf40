"""Trees of classes: what a class is a kind of."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Classes that are there hang at the root."""
    op.add_column("classes", sa.Column("parent", sa.Integer(), nullable=True))


def downgrade() -> None:
    """Classes stay, side by side; so do the labels at what were inner nodes."""
    op.drop_column("classes", "parent")
