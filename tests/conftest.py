import numba
from hypothesis import HealthCheck, settings

from core import share_cores

share_cores()  # as the service does: tests run beside each other

# Contract tests are inherited, so one test function runs for several classes.
shared = {"deadline": None, "suppress_health_check": [HealthCheck.differing_executors]}
settings.register_profile("compiled", max_examples=60, **shared)
settings.register_profile("interpreted", max_examples=15, **shared)
settings.load_profile("interpreted" if numba.config.DISABLE_JIT else "compiled")
