"""Events tell whether the service had asked: labels that a file brought do not show that a search has run dry."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """What is there does not say: nobody was asked."""
    op.add_column("events", sa.Column("asked", sa.Boolean(), nullable=False, server_default=sa.false()))


def downgrade() -> None:
    """Events with one fact less."""
    op.drop_column("events", "asked")
