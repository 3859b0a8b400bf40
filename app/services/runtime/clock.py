"""The time of day."""

import time
from datetime import UTC, datetime


def now() -> float:
    """Seconds since 1970."""
    return time.time()


def rfc3339(seconds: float) -> str:
    """A time as answers have it: in UTC, and of one length, so that texts are in the order of times.

    >>> rfc3339(1794806785.5)
    '2026-11-16T05:26:25.500000Z'
    """
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
