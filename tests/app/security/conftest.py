import pytest

from tests.app.input.calls import client
from tests.app.input.servers import shared_server


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def live(request, tmp_path_factory):
    """(address, service) of a server that the module shares, on each kind of database."""
    with shared_server(request.param, request, tmp_path_factory.mktemp("data")) as found:
        yield found


@pytest.fixture(scope="module")
def http(live):
    """A client with the administrator's key."""
    with client(live[0]) as found:
        yield found
