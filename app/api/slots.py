"""Requests at once: only so many, and no key or address may have them all."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import ceil

from starlette.types import Scope

from app.services.access import digest_of, network_of
from app.services.problems import Unavailable

KEY_SHARE, ADDRESS_SHARE = 0.5, 0.75


class Slots:
    """Places for requests that are being answered."""

    def __init__(self, total: int, note_refused: Callable[[], None]) -> None:
        self._total, self._note_refused = total, note_refused
        self._taken: Counter[object] = Counter()
        self.open = 0

    @contextmanager
    def take(self, scope: Scope) -> Iterator[None]:
        """A place as long as the request lasts; Unavailable if there is none. Health is always answered."""
        shares = _shares(scope)
        free = self.open < self._total and all(
            self._taken[holder] < ceil(share * self._total) for holder, share in shares.items()
        )
        if not free and not scope["path"].startswith("/health"):
            self._note_refused()
            raise Unavailable("too many requests at once: try again in a moment", retry_after=1)
        self.open += 1
        self._taken.update(shares.keys())
        try:
            yield
        finally:
            self.open -= 1
            for holder in shares:
                self._taken[holder] -= 1
                if not self._taken[holder]:
                    del self._taken[holder]


def _shares(scope: Scope) -> dict[object, float]:
    """Who asks, as far as the headers tell, and the part of all places that they may have.

    A key that is not known holds nothing for long: it is refused before its body is read.
    """
    shares: dict[object, float] = {}
    if scope.get("client"):
        shares[network_of(scope["client"][0])] = ADDRESS_SHARE
    given = dict(scope["headers"]).get(b"authorization")
    if given is not None:
        shares[digest_of(given.decode("latin-1"))] = KEY_SHARE
    return shares
