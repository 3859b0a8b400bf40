"""Whether work is still wanted: asked by whatever takes long, so that who cancels need not wait."""

from collections.abc import Callable

Check = Callable[[], object]
"""Raises where the work is not wanted any more."""


def go_on() -> None:
    """The check of work that nobody can cancel."""
