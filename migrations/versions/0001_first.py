"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

# SQLite numbers rows by itself only in a column of type INTEGER.
SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

# INSERT OR REPLACE deletes without calling the trigger for DELETE, so it needs one of its own.
SQLITE_TRIGGERS = [
    """
    CREATE TRIGGER events_no_update BEFORE UPDATE ON events
    BEGIN SELECT RAISE(ABORT, 'events are append-only'); END
    """,
    """
    CREATE TRIGGER events_no_delete BEFORE DELETE ON events
    BEGIN SELECT RAISE(ABORT, 'events are append-only'); END
    """,
    """
    CREATE TRIGGER events_no_replace BEFORE INSERT ON events
    WHEN EXISTS (SELECT 1 FROM events WHERE sequence = NEW.sequence)
    BEGIN SELECT RAISE(ABORT, 'events are append-only'); END
    """,
]
POSTGRESQL_TRIGGERS = [
    """
    CREATE FUNCTION refuse_change_of_events() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION 'events are append-only' USING ERRCODE = 'integrity_constraint_violation';
    END $$
    """,
    """
    CREATE TRIGGER events_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON events
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_of_events()
    """,
]


def upgrade() -> None:
    """Make the tables and guard the events."""
    op.create_table(
        "projects",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("width", sa.Integer()),
        sa.Column("revision", sa.Integer(), server_default="1", nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("deleted_at", sa.Float()),
        sa.PrimaryKeyConstraint("id", name="pk_projects"),
    )
    op.create_table(
        "classes",
        sa.Column("project_id", sa.String(length=32), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("merged_into", sa.Integer()),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_classes_project_id_projects"),
        sa.PrimaryKeyConstraint("project_id", "number", name="pk_classes"),
        sa.UniqueConstraint("project_id", "name", name="uq_classes_project_id_name"),
    )
    op.create_table(
        "items",
        sa.Column("project_id", sa.String(length=32), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("batch", sa.Integer(), nullable=False),
        sa.Column("features", sa.LargeBinary(), nullable=False),
        sa.Column("data", sa.JSON()),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_items_project_id_projects"),
        sa.PrimaryKeyConstraint("project_id", "number", name="pk_items"),
        sa.UniqueConstraint("project_id", "key", name="uq_items_project_id_key"),
    )
    op.create_table(
        "jobs",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("project_id", sa.String(length=32), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("done", sa.Integer(), server_default="0", nullable=False),
        sa.Column("total", sa.Integer()),
        sa.Column("message", sa.Text()),
        sa.Column("result", sa.JSON()),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("finished_at", sa.Float()),
        sa.CheckConstraint("state IN ('queued', 'running', 'done', 'failed', 'cancelled')", name=op.f("ck_jobs_state")),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_jobs_project_id_projects"),
        sa.PrimaryKeyConstraint("id", name="pk_jobs"),
    )
    op.create_table(
        "keys",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("project_id", sa.String(length=32)),
        sa.Column("digest", sa.LargeBinary(length=32), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("revoked_at", sa.Float()),
        sa.CheckConstraint("role IN ('admin', 'annotator', 'reader')", name=op.f("ck_keys_role")),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_keys_project_id_projects"),
        sa.PrimaryKeyConstraint("id", name="pk_keys"),
        sa.UniqueConstraint("digest", name="uq_keys_digest"),
    )
    op.create_table(
        "leases",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("project_id", sa.String(length=32), nullable=False),
        sa.Column("item", sa.Integer(), nullable=False),
        sa.Column("key_id", sa.String(length=32), nullable=False),
        sa.Column("drawn", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("expires_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_leases_project_id_projects"),
        sa.PrimaryKeyConstraint("id", name="pk_leases"),
    )
    op.create_index("ix_leases_project_id_item", "leases", ["project_id", "item"])
    op.create_table(
        "requests",
        sa.Column("id", SERIAL, nullable=False),
        sa.Column("project_id", sa.String(length=32), nullable=False),
        sa.Column("idempotency_key", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.LargeBinary(length=32), nullable=False),
        sa.Column("answer", sa.JSON()),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_requests_project_id_projects"),
        sa.PrimaryKeyConstraint("id", name="pk_requests"),
        sa.UniqueConstraint("project_id", "idempotency_key", name="uq_requests_project_id_idempotency_key"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "trainings",
        sa.Column("id", SERIAL, nullable=False),
        sa.Column("project_id", sa.String(length=32), nullable=False),
        sa.Column("at_event", sa.BigInteger(), nullable=False),
        sa.Column("at_item", sa.Integer(), nullable=False),
        sa.Column("parameters", sa.JSON(), nullable=False),
        sa.Column("report", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_trainings_project_id_projects"),
        sa.PrimaryKeyConstraint("id", name="pk_trainings"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "events",
        sa.Column("sequence", SERIAL, nullable=False),
        sa.Column("project_id", sa.String(length=32), nullable=False),
        sa.Column("item", sa.Integer(), nullable=False),
        sa.Column("key_id", sa.String(length=32), nullable=False),
        sa.Column("actor_id", sa.String(length=32), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("class_number", sa.Integer()),
        sa.Column("predicted", sa.Integer()),
        sa.Column("drawn", sa.Boolean(), nullable=False),
        sa.Column("note", sa.Text()),
        sa.Column("undoes", sa.BigInteger()),
        sa.Column("request_id", SERIAL),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.CheckConstraint(
            "kind IN ('label', 'relabel', 'retract', 'skip', 'unsure', 'comment')", name=op.f("ck_events_kind")
        ),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_events_project_id_projects"),
        sa.ForeignKeyConstraint(["request_id"], ["requests.id"], name="fk_events_request_id_requests"),
        sa.PrimaryKeyConstraint("sequence", name="pk_events"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_events_project_id_item", "events", ["project_id", "item"])
    op.create_index("ix_events_project_id_sequence", "events", ["project_id", "sequence"])
    for statement in SQLITE_TRIGGERS if _on_sqlite() else POSTGRESQL_TRIGGERS:
        op.execute(statement)


def downgrade() -> None:
    """Drop everything."""
    for table in ("events", "trainings", "requests", "leases", "keys", "jobs", "items", "classes", "projects"):
        op.drop_table(table)
    if not _on_sqlite():
        op.execute("DROP FUNCTION refuse_change_of_events()")


def _on_sqlite() -> bool:
    return op.get_context().dialect.name == "sqlite"
