"""Data that both databases can store."""

from typing import Any


def check_plain(value: Any) -> Any:
    """Finite numbers, and texts without NUL; a ValueError otherwise."""
    stack = [value]
    while stack:
        part = stack.pop()
        if isinstance(part, str) and "\0" in part:
            raise ValueError("texts must not contain NUL characters")
        if isinstance(part, float) and part - part != 0.0:
            raise ValueError("numbers must be finite")
        if isinstance(part, dict):
            stack += [*part.keys(), *part.values()]
        if isinstance(part, list):
            stack += part
    return value
