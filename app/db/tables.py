"""The tables of the service, for SQLite and PostgreSQL alike. Times are unix seconds."""

from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
)

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)

# SQLite numbers rows by itself only in a column of type INTEGER, which holds 64 bits there.
_LARGE = BigInteger().with_variant(Integer, "sqlite")
_SERIAL = _LARGE
_OPTIONAL_JSON = JSON(none_as_null=True)


def _project(**options: Any) -> Column[str]:
    return Column("project_id", String(32), ForeignKey("projects.id"), nullable=False, **options)


# A deleted project is only marked, so that its events stay.
projects = Table(
    "projects",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("name", Text, nullable=False),
    Column("settings", JSON, nullable=False),
    Column("width", Integer),
    Column("revision", Integer, nullable=False, server_default="1"),
    Column("created_at", Float, nullable=False),
    Column("deleted_at", Float),
)

# A key without a project is good for all of them.
keys = Table(
    "keys",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("name", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("project_id", String(32), ForeignKey("projects.id")),
    Column("digest", LargeBinary(32), nullable=False),
    Column("created_at", Float, nullable=False),
    Column("revoked_at", Float),
    UniqueConstraint("digest"),
    CheckConstraint("role IN ('admin', 'annotator', 'reader')", name="role"),
)

# `parent` is the number of the class that this one is a kind of.
classes = Table(
    "classes",
    metadata,
    _project(primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("name", Text, nullable=False),
    Column("merged_into", Integer),
    Column("parent", Integer),
    UniqueConstraint("project_id", "name"),
)

items = Table(
    "items",
    metadata,
    _project(primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("key", Text, nullable=False),
    Column("batch", Integer, nullable=False),
    Column("features", LargeBinary, nullable=False),
    Column("data", _OPTIONAL_JSON),
    Column("created_at", Float, nullable=False),
    UniqueConstraint("project_id", "key"),
)

# What turns raw items into features, fitted once; `channels` are the names and numbers of its columns, in order.
encoders = Table(
    "encoders",
    metadata,
    _project(primary_key=True),
    Column("kind", Text, nullable=False),
    Column("why", Text, nullable=False),
    Column("channels", JSON, nullable=False),
    Column("description", JSON, nullable=False),
    Column("state", LargeBinary, nullable=False),
    Column("created_at", Float, nullable=False),
    CheckConstraint("kind IN ('text', 'image', 'table', 'vectors', 'sets')", name="kind"),
)

# The answers to posts with an idempotency key, kept for ever.
requests = Table(
    "requests",
    metadata,
    Column("id", _SERIAL, primary_key=True),
    _project(),
    Column("idempotency_key", Text, nullable=False),
    Column("fingerprint", LargeBinary(32), nullable=False),
    Column("answer", _OPTIONAL_JSON),
    Column("created_at", Float, nullable=False),
    UniqueConstraint("project_id", "idempotency_key"),
    sqlite_autoincrement=True,
)

# Append-only: triggers made by the migrations refuse to change or delete a row. `key_id` tells whose answer it is,
# `actor_id` who wrote it, `undoes` which event it takes back, `predicted` what the model thought before, `asked`
# whether the service had asked.
events = Table(
    "events",
    metadata,
    Column("sequence", _SERIAL, primary_key=True),
    _project(),
    Column("item", Integer, nullable=False),
    Column("key_id", String(32), nullable=False),
    Column("actor_id", String(32), nullable=False),
    Column("kind", Text, nullable=False),
    Column("class_number", Integer),
    Column("predicted", Integer),
    Column("drawn", Boolean, nullable=False),
    Column("asked", Boolean, nullable=False, server_default=false()),
    Column("note", Text),
    Column("undoes", BigInteger),
    Column("request_id", _SERIAL, ForeignKey("requests.id")),
    Column("created_at", Float, nullable=False),
    CheckConstraint("kind IN ('label', 'relabel', 'retract', 'skip', 'unsure', 'comment')", name="kind"),
    Index(None, "project_id", "sequence"),
    Index(None, "project_id", "item"),
    sqlite_autoincrement=True,
)

leases = Table(
    "leases",
    metadata,
    Column("id", String(32), primary_key=True),
    _project(),
    Column("item", Integer, nullable=False),
    Column("key_id", String(32), nullable=False),
    Column("drawn", Boolean, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("expires_at", Float, nullable=False),
    Index(None, "project_id", "item"),
)

trainings = Table(
    "trainings",
    metadata,
    Column("id", _SERIAL, primary_key=True),
    _project(),
    Column("at_event", BigInteger, nullable=False),
    Column("at_item", Integer, nullable=False),
    Column("parameters", JSON, nullable=False),
    Column("report", JSON, nullable=False),
    Column("created_at", Float, nullable=False),
    Index(None, "project_id", "id"),
    sqlite_autoincrement=True,
)

jobs = Table(
    "jobs",
    metadata,
    Column("id", String(32), primary_key=True),
    _project(),
    Column("kind", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("done", _LARGE, nullable=False, server_default="0"),  # of `total`, which may be bytes
    Column("total", _LARGE),
    Column("message", Text),
    Column("result", _OPTIONAL_JSON),
    Column("created_at", Float, nullable=False),
    Column("finished_at", Float),
    CheckConstraint("state IN ('queued', 'running', 'done', 'failed', 'cancelled')", name="state"),
    Index(None, "project_id", "id"),
)

# What joins a project to one of Label Studio's. The secret of its address is stored as a digest; the token is needed
# for every call, so it is stored as it is, and shown to nobody.
label_studio_links = Table(
    "label_studio_links",
    metadata,
    _project(primary_key=True),
    Column("digest", LargeBinary(32), nullable=False),
    Column("address", Text),
    Column("token", Text),
    Column("remote_project", BigInteger),
    Column("top", Integer, nullable=False),
    Column("label_config", Text),
    Column("pushed_version", BigInteger),
    Column("pushed_at", Float),
    Column("synced_at", Float),
    Column("problem", Text),
    Column("created_at", Float, nullable=False),
)

# Tasks of Label Studio. One that has no item yet keeps its data until it has.
label_studio_tasks = Table(
    "label_studio_tasks",
    metadata,
    _project(primary_key=True),
    Column("task", BigInteger, primary_key=True, autoincrement=False),
    Column("item", Integer),
    Column("data", _OPTIONAL_JSON),
    Column("drawn", Boolean, nullable=False),
    Column("problem", Text),
    Index(None, "project_id", "item"),
)

# What Label Studio last said of each annotation, and whether the log of events has it: `changed_at` by its clock,
# `heard_at` by ours. One that is gone keeps its row, since only its id is told.
label_studio_annotations = Table(
    "label_studio_annotations",
    metadata,
    _project(primary_key=True),
    Column("annotation", BigInteger, primary_key=True, autoincrement=False),
    Column("task", BigInteger, nullable=False),
    Column("key_id", String(32), nullable=False),
    Column("kind", Text, nullable=False),
    Column("label", Text),
    Column("state", Text, nullable=False),
    Column("changed_at", Float, nullable=False),
    Column("heard_at", Float, nullable=False),
    CheckConstraint("kind IN ('label', 'skip', 'nothing', 'gone')", name="kind"),
    CheckConstraint("state IN ('waiting', 'written', 'refused')", name="state"),
    Index(None, "project_id", "task"),
    Index(None, "project_id", "state"),
)
