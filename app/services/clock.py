"""The time of day."""

import time


def now() -> float:
    """Seconds since 1970."""
    return time.time()
