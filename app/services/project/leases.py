"""Which items are promised to whom."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Lease:
    """An item promised to an annotator until it runs out."""

    id: str
    item: int
    annotator: str
    drawn: bool  # at random
    expires_at: float


@dataclass
class LeaseBook:
    """All leases of a project.

    >>> book = LeaseBook()
    >>> book.add(Lease("a", 3, "ann", False, expires_at=10.0))
    >>> book.holders(3), [lease.id for lease in book.expired(10.0)]
    ({'ann'}, ['a'])
    """

    leases: dict[str, Lease] = field(default_factory=dict)
    _by_item: dict[int, dict[str, Lease]] = field(default_factory=lambda: defaultdict(dict))

    @classmethod
    def of(cls, rows: Iterable[Any]) -> "LeaseBook":
        """The leases in rows of the table."""
        book = cls()
        for row in rows:
            book.add(Lease(row.id, row.item, row.key_id, bool(row.drawn), row.expires_at))
        return book

    def add(self, lease: Lease) -> None:
        """A new lease, or one with another end."""
        self.leases[lease.id] = lease
        self._by_item[lease.item][lease.id] = lease

    def get(self, lease_id: str) -> Lease | None:
        """A lease by its id."""
        return self.leases.get(lease_id)

    def remove(self, lease_id: str) -> None:
        """End a lease."""
        lease = self.leases.pop(lease_id)
        own = self._by_item[lease.item]
        del own[lease_id]
        if not own:
            del self._by_item[lease.item]

    def expired(self, now: float) -> list[Lease]:
        """What has run out."""
        return [lease for lease in self.leases.values() if lease.expires_at <= now]

    def items(self) -> list[int]:
        """Items with a lease."""
        return list(self._by_item)

    def holders(self, item: int) -> set[str]:
        """People who hold a lease of an item."""
        return {lease.annotator for lease in self._by_item.get(item, {}).values()}

    def of_annotator(self, annotator: str) -> list[Lease]:
        """What a person holds, oldest first."""
        return [lease for lease in self.leases.values() if lease.annotator == annotator]

    def of_answer(self, item: int, annotator: str) -> list[Lease]:
        """The leases that an answer of this person on this item ends."""
        return [lease for lease in self._by_item.get(item, {}).values() if lease.annotator == annotator]
