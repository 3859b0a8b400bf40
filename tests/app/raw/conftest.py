"""Raw items take long and touch the database little: `make torture` tries them on PostgreSQL, too."""

import pytest

from tests.app.conftest import site_on
from tests.app.reliability.servers import TORTURE

DATABASES = ["sqlite", "postgresql"] if TORTURE else ["sqlite"]


@pytest.fixture(scope="module", params=DATABASES)
def site(request, tmp_path_factory, postgresql_server):
    """As everywhere, on fewer databases."""
    with site_on(request.param, tmp_path_factory.mktemp("site"), postgresql_server) as site:
        yield site


@pytest.fixture(params=DATABASES)
def database_url(request):
    """As everywhere, on fewer databases."""
    return request.getfixturevalue(f"{request.param}_url")
