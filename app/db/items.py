"""Items: features as bytes, and what people look at."""

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Row,
    bindparam,
    cast,
    exists,
    func,
    insert,
    literal,
    select,
    true,
)
from sqlalchemy.dialects.postgresql import JSONB

from app.db.tables import items

CHUNK = 500  # bound parameters of one statement stay below what SQLite takes

_WITH_NUMBERS = select(items.c.number, items.c.key, items.c.data).where(
    items.c.project_id == bindparam("project"), items.c.number.in_(bindparam("numbers", expanding=True))
)  # built once, as in app/db/events.py


def add(connection: Connection, rows: list[dict[str, Any]]) -> None:
    """Rows of the table."""
    if rows:
        connection.execute(insert(items), rows)


def with_keys(connection: Connection, project_id: str, keys: Sequence[str]) -> dict[str, Row[Any]]:
    """Items that have these keys, by key."""
    found: dict[str, Row[Any]] = {}
    for first in range(0, len(keys), CHUNK):
        part = keys[first : first + CHUNK]
        query = select(items).where(items.c.project_id == project_id, items.c.key.in_(part))
        found |= {row.key: row for row in connection.execute(query)}
    return found


def with_numbers(connection: Connection, project_id: str, numbers: Sequence[int]) -> dict[int, Row[Any]]:
    """Key and data of items, by number."""
    found: dict[int, Row[Any]] = {}
    for first in range(0, len(numbers), CHUNK):
        part = {"project": project_id, "numbers": list(numbers[first : first + CHUNK])}
        found |= {row.number: row for row in connection.execute(_WITH_NUMBERS, part)}
    return found


def page(connection: Connection, project_id: str, after: int, limit: int) -> Sequence[Any]:
    """Number, key and data of items behind this number."""
    behind = items.c.number > literal(after, BigInteger)  # a cursor may be any number
    query = select(items.c.number, items.c.key, items.c.data).where(items.c.project_id == project_id, behind)
    return connection.execute(query.order_by(items.c.number).limit(limit)).all()


def stream_keys(connection: Connection, project_id: str) -> Iterator[Any]:
    """Key, batch and time of all items, in their order."""
    query = select(items.c.key, items.c.batch, items.c.created_at).where(items.c.project_id == project_id)
    with connection.execute(query.order_by(items.c.number).execution_options(yield_per=5000)) as rows:
        yield from rows


def stream_features(connection: Connection, project_id: str, start: int, stop: int) -> Iterator[bytes]:
    """Features of the items from `start` to `stop`, in their order."""
    query = select(items.c.features).where(
        items.c.project_id == project_id, items.c.number >= start, items.c.number < stop
    )
    with connection.scalars(query.order_by(items.c.number).execution_options(yield_per=2000)) as values:
        yield from values


def data_names(connection: Connection, project_id: str, limit: int) -> list[str]:
    """Names in the data of all items, at most so many: those of the first item as it has them, then the others."""
    if connection.dialect.name == "postgresql":
        names = select(func.json_object_keys(items.c.data).label("name"))
    else:
        entry = func.json_each(items.c.data).table_valued("key")
        names = select(entry.c.key.label("name")).select_from(items.join(entry, true()))
    query = names.where(items.c.project_id == project_id, items.c.data.is_not(None))
    found = connection.scalars(query.distinct().order_by("name").limit(limit)).all()
    first = page(connection, project_id, -1, 1)
    leading = [name for name in (first[0].data or {} if first else {}) if name in found]
    return leading + [name for name in found if name not in leading]


def matching(connection: Connection, project_id: str, fields: dict[str, str | int | float | bool]) -> list[int]:
    """Numbers of the items whose data has these values; a text is no number, and a number no truth."""
    query = select(items.c.number).where(items.c.project_id == project_id)
    if connection.dialect.name == "postgresql":
        query = query.where(cast(items.c.data, JSONB).contains(fields))
    else:
        query = query.where(*(_has(name, value) for name, value in fields.items()))
    return list(connection.scalars(query))


def _has(name: str, value: str | int | float | bool) -> ColumnElement[bool]:
    """A condition for SQLite, whose paths into JSON take no quotes in a name."""
    entry = func.json_each(items.c.data).table_valued("key", "value", "type")
    if isinstance(value, bool):
        same = entry.c.type == str(value).lower()
    else:
        same = (entry.c.value == value) & entry.c.type.in_(["text"] if isinstance(value, str) else ["integer", "real"])
    return exists().select_from(entry).where(entry.c.key == name, same)
