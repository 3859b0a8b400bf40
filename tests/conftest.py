import numba
import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadFileScheduling

from core import share_cores

share_cores()  # as the service does: tests run beside each other

# Contract tests are inherited, so one test function runs for several classes.
shared = {"deadline": None, "suppress_health_check": [HealthCheck.differing_executors]}
settings.register_profile("compiled", max_examples=60, **shared)
settings.register_profile("quick", max_examples=5, **shared)  # `make fast` asks for it
settings.register_profile("interpreted", max_examples=15, **shared)
settings.load_profile("interpreted" if numba.config.DISABLE_JIT else "compiled")

TOGETHER = ("tests/app/cluster/", "tests/app/page/")  # each shares a cluster or a browser, which are slow to start


class LoadFolders(LoadFileScheduling):
    """Where tests run in several processes, those of a file, or of such a folder, run in one."""

    def _split_scope(self, nodeid):
        return next((folder for folder in TOGETHER if nodeid.startswith(folder)), super()._split_scope(nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return LoadFolders(config, log) if config.getvalue("dist") == "loadfile" else None
