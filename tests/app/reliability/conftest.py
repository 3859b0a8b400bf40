import pytest

from tests.app.reliability.servers import Server


@pytest.fixture
def serve(tmp_path):
    """Starts servers, each in a process of its own, that do not outlive the test."""
    servers = []

    def start(url, environment=None, data_dir="data", **options):
        server = Server(url, tmp_path / data_dir, environment or {})
        servers.append(server)
        return server.start(**options)

    yield start
    for server in servers:
        server.end()
