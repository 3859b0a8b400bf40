"""Servers that the tests of a module share, one for each kind of database."""

import uuid
from contextlib import contextmanager

import psycopg

from tests.app.live import in_thread


@contextmanager
def shared_server(kind, request, folder, **options):
    """(address, service) on SQLite or PostgreSQL; the database is dropped afterwards."""
    if kind == "sqlite":
        with in_thread(f"sqlite:///{folder / 'asknext.db'}", folder, **options) as live:
            yield live
        return
    server = request.getfixturevalue("postgresql_server")
    name = f"test_{uuid.uuid4().hex}"
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        try:
            with in_thread(server.get_uri(database=name), folder, **options) as live:
                yield live
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
