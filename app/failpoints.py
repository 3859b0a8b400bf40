"""Places where a test may let the process die: ASKNEXT_FAILPOINT=name, or name:n for the n-th time."""

import os
import signal
from collections import Counter

_passed: Counter[str] = Counter()


def failpoint(name: str) -> None:
    """Die here, at once, if the environment says so."""
    armed = os.environ.get("ASKNEXT_FAILPOINT")
    if not armed:
        return
    place, _, time = armed.partition(":")
    if place == name:
        _passed[name] += 1
        if _passed[name] == int(time or 1):
            os.kill(os.getpid(), signal.SIGKILL)
