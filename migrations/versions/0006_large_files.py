"""Jobs tell how many bytes of a file they have read: more than 31 bits hold."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """SQLite has 64 bits in any case."""
    if op.get_bind().dialect.name == "postgresql":
        op.alter_column("jobs", "done", type_=sa.BigInteger())
        op.alter_column("jobs", "total", type_=sa.BigInteger())


def downgrade() -> None:
    """Larger numbers become the largest that fits."""
    if op.get_bind().dialect.name == "postgresql":
        for column in ("done", "total"):
            op.alter_column(
                "jobs", column, type_=sa.Integer(), postgresql_using=f"LEAST({column}, 2147483647)::integer"
            )
